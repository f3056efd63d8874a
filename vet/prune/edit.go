package prune

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// An edit replaces the bytes from start to end of a text.
type edit struct {
	start, end int
	text       string
}

// overlaps reports whether two edits cannot be made together. Two insertions at one
// place cannot, because their order would be a guess.
func (e edit) overlaps(f edit) bool {
	return e.start < f.end && f.start < e.end || e.start == f.start
}

// edits are edits of one text that can be made together.
type edits []edit

// add adds edits that belong together, all or none.
func (l *edits) add(list ...edit) bool {
	for i, e := range list {
		if slices.ContainsFunc(*l, e.overlaps) || slices.ContainsFunc(list[:i], e.overlaps) {
			return false
		}
	}
	*l = append(*l, list...)
	return true
}

// apply makes the edits.
func (l edits) apply(text []byte) []byte {
	slices.SortFunc(l, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out bytes.Buffer
	at := 0
	for _, e := range l {
		out.Write(text[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(text[at:])
	return out.Bytes()
}

// strip removes the marks from a text. A line that had nothing else goes with them, and so
// do empty lines that then stand twice, or at the beginning or the end of a block.
func strip(text []byte, marks ...string) []byte {
	var lines []string
	dropped := false // the line before this one
	for line := range strings.Lines(string(text)) {
		rest := line
		for _, mark := range marks {
			rest = strings.ReplaceAll(rest, mark, "")
		}
		empty := strings.TrimSpace(rest) == ""
		switch {
		case rest != line && empty:
			dropped = true
			continue
		case dropped && empty && len(lines) > 0 && opensOrEmpty(lines[len(lines)-1]):
			continue
		case dropped && closes(rest):
			for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
				lines = lines[:len(lines)-1]
			}
		}
		dropped = false
		lines = append(lines, rest)
	}
	return []byte(strings.Join(lines, ""))
}

func opensOrEmpty(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasSuffix(line, "{") || strings.HasSuffix(line, "(") || strings.HasSuffix(line, ":")
}

func closes(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "}") || strings.HasPrefix(line, ")")
}
