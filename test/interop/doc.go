// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package interop runs stock LanceDB beside Lake's own Lance implementation.
//
// The tests need node and the packages of package.json. They are found in the
// directory LAKE_NODE_MODULES names, else in node_modules beside this file
// (`npm ci` there); without them the tests are skipped and say so.
package interop
