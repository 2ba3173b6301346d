// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/internal/schemadsl"
)

func (a *app) tableCreateCommand() *cobra.Command {
	var columns []string
	c := &cobra.Command{
		Use:   "create NAMESPACE.TABLE --column NAME:TYPE …",
		Short: "Create an empty table",
		Long: "Creates an empty table. A type followed by ? may be null. Types:\n\n" +
			"  bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 utf8 binary date\n" +
			"  ts[UNIT] ts[UNIT,ZONE]    UNIT is s, ms, us or ns\n" +
			"  decimal(PRECISION,SCALE)\n" +
			"  list<TYPE> fsl<TYPE,SIZE> struct<NAME:TYPE,…>",
		Example: "  lake table create robots.episodes --column robot_id:utf8 --column episode:i64 --column 'pose:fsl<f32,7>?'",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := tableName(args[0])
			if err != nil {
				return err
			}
			schema, err := schemadsl.ParseSchema(columns)
			if err != nil {
				return usageError{err}
			}
			client, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			t, err := client.CreateTable(cmd.Context(), name, schema)
			if err != nil {
				return err
			}
			a.note("created table %s, incarnation %s", name, t.Snapshot.Incarnation)
			return nil
		},
	}
	// An array, not a slice: commas belong to the types.
	c.Flags().StringArrayVar(&columns, "column", nil, "a column as NAME:TYPE; give one for each")
	return c
}
