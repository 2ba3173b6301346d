// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Limits of numbers: 38 significant digits, magnitudes from 1E-130 to 9.99E+125.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

var numberShape = regexp.MustCompile(`^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$`)

func readNumber(v *value, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &v.text); err != nil {
		return err
	}
	normal, err := normalNumber(v.text)
	v.text = normal
	return err
}

// normalNumber writes a number without exponent and needless zeros, so that equal
// numbers have one text.
func normalNumber(text string) (string, error) {
	m := numberShape.FindStringSubmatch(text)
	if m == nil || m[2]+m[3] == "" {
		return "", invalid("The parameter cannot be converted to a numeric value: %s", text)
	}
	exponent, _ := strconv.Atoi(m[4])
	point := len(m[2]) + exponent
	digits := strings.TrimLeft(m[2]+m[3], "0")
	point -= len(m[2]+m[3]) - len(digits)
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return "0", nil
	case len(digits) > maxDigits:
		return "", invalid("Attempting to store more than %d significant digits in a Number", maxDigits)
	case point-1 > maxExponent:
		return "", invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case point-1 < minExponent:
		return "", invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return strings.TrimPrefix(m[1], "+") + placePoint(digits, point), nil
}

// placePoint writes 0.digits × 10^point.
func placePoint(digits string, point int) string {
	switch {
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return digits + strings.Repeat("0", point-len(digits))
	}
	return digits[:point] + "." + digits[point:]
}
