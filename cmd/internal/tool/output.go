package tool

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// Print prints a line to standard output.
func (p *Program) Print(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Stdout, format+"\n", args...)
	return err
}

// PrintLines prints lines, which may come from anywhere.
func (p *Program) PrintLines(lines ...string) error {
	for _, line := range lines {
		if err := p.Print("%s", Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// PrintText prints a text of several lines, as PrintLines does.
func (p *Program) PrintText(text string) error {
	return p.PrintLines(strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
}

// JSON prints a value as JSON, indented.
func (p *Program) JSON(v any) error {
	e := json.NewEncoder(p.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Table prints rows with their columns aligned, the first row as a heading. Cells may
// come from anywhere.
func (p *Program) Table(rows [][]string) error {
	buffered := bufio.NewWriter(p.Stdout)
	w := tabwriter.NewWriter(buffered, 0, 0, 2, ' ', tabwriter.DiscardEmptyColumns)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, Printable(cell))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return buffered.Flush()
}

// inLines prints what an error says after its first line to standard error, such as the
// errors of a compiler, and returns what the first one says.
func (p *Program) inLines(err error) error {
	text, more, ok := strings.Cut(err.Error(), "\n")
	if !ok {
		return err
	}
	for line := range strings.SplitSeq(more, "\n") {
		fmt.Fprintln(p.Stderr, Printable(strings.ReplaceAll(line, "\t", " ")))
	}
	return errors.New(strings.TrimSuffix(text, ":"))
}

// pairs reads the values of a flag that are KEY=VALUE. A key may have an equals sign, and a
// value has none.
func pairs(flag, want string, texts []string) (map[string]string, error) {
	list := make(map[string]string)
	for _, text := range texts {
		i := strings.LastIndexByte(text, '=')
		if i <= 0 || i == len(text)-1 {
			return nil, BadValue(flag, text, want)
		}
		list[text[:i]] = text[i+1:]
	}
	return list, nil
}

// Printable makes a text fit for one line on a terminal: what does not print, such as
// a line break or a command for the terminal, becomes an escape of Go.
func Printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			b.WriteRune(r)
		} else {
			quoted := fmt.Sprintf("%q", r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
