package diff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
)

// String returns the report as lines for people: a line for each flag, and below
// it a line for each change.
func (d *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d subjects (%s) get another value; %d of %d flags differ\n",
		d.Changed, d.Subjects, percentText(d.Changed, d.Subjects), len(d.Flags), d.all)
	if len(d.Flags) == 0 {
		return b.String()
	}
	table := make([][]string, len(d.Flags))
	for i := range d.Flags {
		f := &d.Flags[i]
		table[i] = []string{printable(f.Key), f.kindText(), percentText(f.Changed, d.Subjects), strconv.Itoa(f.Changed)}
	}
	lines := alignColumns(table, "  ", 2, 3)
	for i := range d.Flags {
		b.WriteString("\n" + lines[i])
		for _, line := range d.Flags[i].changeLines() {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

func (f *Flag) kindText() string {
	switch {
	case f.Added:
		return "added"
	case f.Removed:
		return "removed"
	case f.Changed == 0:
		return "payload"
	default:
		return "changed"
	}
}

// changeLines returns the changes of a flag, one per line.
func (f *Flag) changeLines() []string {
	var table [][]string
	add := func(list []Change, total int, side func(flags.Result) string, what string) {
		for i := range list {
			c := &list[i]
			table = append(table, []string{strconv.Itoa(c.Subjects), side(c.Before), "→", side(c.After), c.examplesText()})
			total -= c.Subjects
		}
		if total > 0 {
			table = append(table, []string{strconv.Itoa(total), "other changes of the " + what, "", "", ""})
		}
	}
	add(f.Changes, f.Changed, withReason, "value")
	add(f.PayloadChanges, f.PayloadChanged, withPayload, "payload")
	return alignColumns(table, " ", 0)
}

// withReason puts a value and its reason into words.
func withReason(r flags.Result) string {
	if r.Reason.ConditionIndex < 0 {
		return fmt.Sprintf("%s (%s)", valueText(r), r.Reason.Code)
	}
	return fmt.Sprintf("%s (%s %d)", valueText(r), r.Reason.Code, r.Reason.ConditionIndex)
}

func valueText(r flags.Result) string {
	if typed := typedText(&r); typed != "" {
		return printable(words.Shorten(typed, 80))
	}
	switch v := r.Value().(type) {
	case string:
		return strconv.Quote(v)
	default:
		if r.Failed {
			return "failed"
		}
		return fmt.Sprint(v)
	}
}

// withPayload puts a value and its payload into words.
func withPayload(r flags.Result) string {
	if r.Metadata.Payload == "" {
		return valueText(r) + " without payload"
	}
	return valueText(r) + " with payload " + printable(words.Shorten(r.Metadata.Payload, 80))
}

func (c *Change) examplesText() string {
	ids := make([]string, len(c.Examples))
	for i, s := range c.Examples {
		ids[i] = strconv.Quote(s.DistinctID)
	}
	list := "e.g. " + strings.Join(ids, ", ")
	if len(ids) == c.Subjects {
		list = strings.TrimPrefix(list, "e.g. ")
	}
	return list
}

// percentText returns a share with three significant digits. It is 0% only for
// none, and 100% only for all.
func percentText(n, of int) string {
	switch {
	case n == 0:
		return "0%"
	case n == of:
		return "100%"
	}
	share := 100 * float64(n) / float64(of)
	if share < 0.0001 {
		return "<0.0001%"
	}
	return strconv.FormatFloat(min(share, 99.9), 'g', 3, 64) + "%"
}

// printable returns a text that may come from anywhere in a form that fits into a
// line.
func printable(s string) string {
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// alignColumns returns the rows of a table as lines, with each column below its
// first cell. The columns named by right are aligned at the right.
func alignColumns(table [][]string, gap string, right ...int) []string {
	var widths []int
	for _, row := range table {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, i := range right {
		if i < len(widths) {
			widths[i] = -widths[i]
		}
	}
	lines := make([]string, len(table))
	for n, row := range table {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteString(gap)
			}
			fmt.Fprintf(&b, "%*s", -widths[i], cell)
		}
		lines[n] = strings.TrimRight(b.String(), " ") + "\n"
	}
	return lines
}
