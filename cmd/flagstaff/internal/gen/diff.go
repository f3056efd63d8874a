package gen

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// SameCode reports whether two files differ in nothing but comments, which say for how
// many a flag is on. What is no Go is the same only as equal bytes.
func SameCode(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := tokens(a), tokens(b)
	return x != nil && slices.Equal(x, y)
}

// tokens returns the tokens of code without comments, nil for what is no Go.
func tokens(code []byte) (list []string) {
	set, failed := token.NewFileSet(), false
	var s scanner.Scanner
	s.Init(set.AddFile("", set.Base(), len(code)), code, func(token.Position, string) { failed = true }, 0)
	for {
		_, kind, literal := s.Scan()
		switch {
		case failed:
			return nil
		case kind == token.EOF:
			return list
		case kind == token.SEMICOLON: // it may be a line break
			literal = ""
		}
		list = append(list, kind.String()+literal)
	}
}

const (
	diffContext = 3         // lines around a change
	maxDiff     = 4_000_000 // pairs of lines that are compared
)

// Diff returns how two texts differ, as diff -u prints it. If they differ in very many
// lines, it takes all of them for changed.
func Diff(oldName, newName string, before, after []byte) string {
	a, b := slices.Collect(strings.Lines(string(before))), slices.Collect(strings.Lines(string(after)))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
	edits := compare(a, b)
	for i := 0; i < len(edits); {
		if edits[i].mark == ' ' {
			i++
			continue
		}
		from := max(i-diffContext, 0)
		to := i
		for n := i; n < len(edits) && n <= to+2*diffContext; n++ {
			if edits[n].mark != ' ' {
				to = n
			}
		}
		i = min(to+diffContext+1, len(edits))
		hunk := edits[from:i]
		var size [2]int
		for _, e := range hunk {
			if e.mark != '+' {
				size[0]++
			}
			if e.mark != '-' {
				size[1]++
			}
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", hunk[0].a+1, size[0], hunk[0].b+1, size[1])
		for _, e := range hunk {
			out.WriteByte(e.mark)
			out.WriteString(e.line)
			if !strings.HasSuffix(e.line, "\n") {
				out.WriteString("\n")
			}
		}
	}
	return out.String()
}

// An edit is a line of one text, or of both, with the numbers of lines before it.
type edit struct {
	mark byte // ' ', '-' or '+'
	line string
	a, b int
}

// compare returns the edits that make one list of lines of another.
func compare(a, b []string) (edits []edit) {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	end := 0
	for end < len(a)-same && end < len(b)-same && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	i, j := 0, 0
	keep := func() {
		edits = append(edits, edit{' ', a[i], i, j})
		i, j = i+1, j+1
	}
	remove := func() {
		edits = append(edits, edit{'-', a[i], i, j})
		i++
	}
	add := func() {
		edits = append(edits, edit{'+', b[j], i, j})
		j++
	}
	for i < same {
		keep()
	}
	endA, endB := len(a)-end, len(b)-end
	common := commonLines(a[same:endA], b[same:endB])
	for i < endA || j < endB {
		switch {
		case i == endA:
			add()
		case j == endB:
			remove()
		case common != nil && a[i] == b[j]:
			keep()
		case common == nil || common[i-same+1][j-same] >= common[i-same][j-same+1]:
			remove()
		default:
			add()
		}
	}
	for i < len(a) {
		keep()
	}
	return edits
}

// commonLines returns how many lines the ends of two lists have in common, by where they
// begin. It is nil if that would take long.
func commonLines(a, b []string) [][]int32 {
	if len(a)*len(b) > maxDiff {
		return nil
	}
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}
