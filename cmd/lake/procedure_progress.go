// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"time"

	"github.com/lakeplane/lake/sdk"
)

// totalCell is what the phase's counter will be at its end.
func totalCell(p *sdk.Progress) cell {
	if p == nil || p.Total == 0 {
		return cell{null: true}
	}
	return numberCell(p.Total)
}

// rateCell is the counter's rate.
func rateCell(p *sdk.Progress) cell {
	if p == nil || p.PerSecond <= 0 {
		return cell{null: true}
	}
	return cell{text: rateText(p.PerSecond), value: math.Round(p.PerSecond*1000) / 1000}
}

// rateText has no more digits than anybody reads.
func rateText(perSecond float64) string {
	if perSecond < 10 {
		return fmt.Sprintf("%.2g", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// etaCell is when the phase ends at this rate.
func etaCell(p *sdk.Progress) cell {
	if p == nil || p.ETA.IsZero() {
		return cell{null: true}
	}
	return timeCell(p.ETA.Truncate(time.Second))
}

// progressText is how far a procedure is, for its line.
func progressText(p sdk.Procedure, now time.Time) string {
	m := p.Progress
	if m == nil {
		return ""
	}
	text := ""
	if m.Total > 0 {
		text += fmt.Sprintf(", %d %%", min(100, 100*p.Counters[m.Of]/m.Total))
		if m.About {
			text += " or so"
		}
	}
	if m.PerSecond > 0 {
		text += ", " + rateText(m.PerSecond) + "/s"
	}
	if !m.ETA.IsZero() {
		text += ", " + max(0, m.ETA.Sub(now)).Round(time.Second).String() + " to go"
	}
	return text
}
