// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strconv"
	"strings"
)

// Count writes a number with separators: 1234567 is "1,234,567".
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return sign + out.String()
}

// Bytes writes a size in decimal units: 1234567 is "1.2 MB".
func Bytes(n int64) string {
	if n < 1000 && n > -1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), 0
	for units := "kMGTPE"; (value >= 999.95 || value <= -999.95) && unit < len(units); unit++ {
		value /= 1000
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTPE"[unit-1])
}
