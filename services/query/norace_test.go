// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build !race

package query_test

// raceDetector tells tests that times mean nothing.
const raceDetector = false
