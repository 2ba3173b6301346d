// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/internal/schemadsl"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func (a *app) tableCreateCommand() *cobra.Command {
	var columns []string
	var compact bool
	c := &cobra.Command{
		Use:   "create NAMESPACE.TABLE --column NAME:TYPE …",
		Short: "Create an empty table",
		Long: "Creates an empty table. A type followed by ? may be null. Types:\n\n" +
			"  bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 utf8 binary date\n" +
			"  ts[UNIT] ts[UNIT,ZONE]    UNIT is s, ms, us or ns\n" +
			"  decimal(PRECISION,SCALE)\n" +
			"  list<TYPE> fsl<TYPE,SIZE> struct<NAME:TYPE,…>\n\n" +
			"--compact has the table's data written smaller, about as small as other Lance clients\n" +
			"write them, at a price in processor time for those who write and read.",
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
			if compact {
				schema = sdk.WithTableOptions(schema, lake.TableOptions{Compact: true})
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
			if a.format == "table" {
				return nil // that is all that a person wants to know
			}
			return a.printTable(t)
		},
	}
	// An array, not a slice: commas belong to the types.
	c.Flags().StringArrayVar(&columns, "column", nil, "a column as NAME:TYPE; give one for each")
	c.Flags().BoolVar(&compact, "compact", false, "write data smaller and slower, for as long as the table is there")
	return c
}
