// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package schema maps Arrow schemas to the field lists of the Lance format and
// back.
//
// A Lance schema is a flat list of fields in pre-order. Each field has an id
// that is unique in its dataset, the id of its parent (-1 for a root) and a
// textual type, the logical type. Lists have one child, structs have one per
// field, fixed size lists of primitives have none: the item type is part of
// their logical type, so the item's name and nullability are not kept. [ToArrow]
// gives such an item the name "item" and makes it nullable.
//
// [Check] is the list of what Lake writes. Reading accepts a little more: see
// [ToArrow].
package schema
