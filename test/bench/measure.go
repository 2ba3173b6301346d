// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// figure is one measured line.
type figure struct {
	Suite string  `json:"suite"`
	Case  string  `json:"case"`
	Who   string  `json:"who"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Low and High are the extremes of the repetitions.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// cost is what one repetition took.
type cost struct{ cpu, wall time.Duration }

// measure runs fn and counts the CPU time of this process and of the others.
func measure(others []int, fn func() error) (cost, error) {
	cpu, err := cpuTime(others)
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	if err := fn(); err != nil {
		return cost{}, err
	}
	wall := time.Since(began)
	after, err := cpuTime(others)
	return cost{after - cpu, wall}, err
}

func cpuTime(others []int) (time.Duration, error) {
	var own unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
		return 0, err
	}
	total := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	for _, pid := range others {
		t, err := processTime(pid)
		if err != nil {
			return 0, err
		}
		total += t
	}
	return total, nil
}

// processTime reads the scheduler's own count, in nanoseconds: the ticks of
// /proc/pid/stat are too coarse for a millisecond's work.
func processTime(pid int) (time.Duration, error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, task := range tasks {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
		if err != nil {
			continue // the thread has just ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(n)
	}
	return total, nil
}

// contender is one that does the work of a case. Its cost is that of this
// process and of the others.
type contender struct {
	name   string
	others []int
	run    func() error
}

// versus lets the contenders take turns, so that what else the machine does
// weighs on all of them, and returns their CPU and wall figures. The first turn
// of each warms up and does not count.
func versus(suite, name string, rounds int, contenders []contender) (all []figure, err error) {
	cpu, wall := make([][]float64, len(contenders)), make([][]float64, len(contenders))
	for round := range rounds + 1 {
		for i, who := range contenders {
			c, err := measure(who.others, who.run)
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %s: %w", suite, name, who.name, err)
			}
			if round > 0 {
				cpu[i], wall[i] = append(cpu[i], ms(c.cpu)), append(wall[i], ms(c.wall))
			}
		}
	}
	for i, who := range contenders {
		all = append(all, summary(suite, name, who.name, "CPU ms", cpu[i]), summary(suite, name, who.name, "wall ms", wall[i]))
	}
	return all, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func summary(suite, name, who, unit string, values []float64) figure {
	slices.Sort(values)
	return figure{Suite: suite, Case: name, Who: who, Unit: unit, Value: values[len(values)/2], Low: values[0], High: values[len(values)-1]}
}

// show prints a Markdown table. Ratios are against the case's first
// figure of the same unit, which is Lake's.
func show(figures []figure) {
	fmt.Printf("\n| %s | who | median | low–high | unit | ÷ Lake |\n|---|---|---|---|---|---|\n", figures[0].Suite)
	base := map[string]float64{}
	for _, f := range figures {
		key := f.Case + f.Unit
		if _, seen := base[key]; !seen {
			base[key] = f.Value
		}
		spread := ""
		if f.High > 0 {
			spread = fmt.Sprintf("%.4g–%.4g", f.Low, f.High)
		}
		fmt.Printf("| %s | %s | %.4g | %s | %s | %.2f |\n", f.Case, f.Who, f.Value, spread, f.Unit, f.Value/base[key])
	}
}
