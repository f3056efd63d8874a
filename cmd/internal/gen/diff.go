package gen

import (
	"bytes"
	"go/scanner"
	"go/token"
	"slices"

	"github.com/aymanbagabas/go-udiff"
)

// SameCode reports whether two files differ in nothing but comments, which say for how
// many a flag is on. What is not Go is the same only as equal bytes.
func SameCode(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := tokens(a), tokens(b)
	return x != nil && slices.Equal(x, y)
}

// tokens returns the tokens of code without comments, nil for what is not Go.
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

// Diff returns how two texts differ, as diff -u prints it.
func Diff(oldName, newName string, before, after []byte) (string, error) {
	edits := udiff.Lines(string(before), string(after))
	return udiff.ToUnified(oldName, newName, string(before), edits, udiff.DefaultContextLines)
}
