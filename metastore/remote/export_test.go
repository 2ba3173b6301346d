// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

// CheckPage is the check of a server's page.
var CheckPage = page
