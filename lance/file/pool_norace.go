// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build !race

package file

func spoil([]byte) {}
