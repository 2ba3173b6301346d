// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness

package protocol

func init() {
	budgets["takeovers"] = budget{takeovers: 3, crashes: 1, versions: 3}
	budgets["undrops"] = budget{takeovers: 2, undrops: 2, versions: 3}
}
