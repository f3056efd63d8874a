package source

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A KeptPart is a part of older definitions that stays in force because newer ones break it, see
// [flags.Loaded]: a flag, or what is outside of flags.
type KeptPart struct {
	// Since is when the definitions came that broke it first.
	Since time.Time

	// Problem says what is broken. It is about a flag if it has the key of one. Line and
	// Column are where it stands in the document, 0 for a document of one line.
	Problem      flags.Problem
	Line, Column int
}

// part identifies what is kept.
func (k *KeptPart) part() string {
	if k.Problem.Flag != "" {
		return k.Problem.Flag
	}
	return k.Problem.Path
}

// keepsLast reports whether what newer definitions of a Source break stays as it was.
func keepsLast(s Source) bool {
	switch s := s.(type) {
	case File, *File:
		return true
	case Cached:
		return keepsLast(s.Source)
	case *Cached:
		return s != nil && keepsLast(s.Source)
	}
	r, ok := remoteOf(s)
	return ok && r.KeepLast
}

// next compiles the definitions of an answer, and returns what is kept of older ones: of
// those in use, or else of those on disk.
func (l *Loader) next(a *answer) (*flags.Loaded, []KeptPart, error) {
	last, known := l.loaded, l.Status().Kept
	last = cmp.Or(last, new(flags.Loaded))
	next, err := last.Next(a.definitions, l.config.Compile)
	if err != nil || !keepsLast(l.source) {
		return next, nil, err
	}
	if last.Snapshot == nil && a.onDisk != nil && hasErrors(next.Snapshot) {
		if next, err = a.onDisk.next(a.definitions, l.config.Compile); err != nil {
			return nil, nil, err
		}
		known = a.onDisk.list
	}
	if len(next.Kept) == 0 {
		return next, nil, nil
	}
	var kept []KeptPart
	place := l.placesOf(next.Snapshot)
	for _, p := range next.Kept {
		at := place(p)
		k := KeptPart{Since: a.fetched, Problem: p, Line: at.Line, Column: at.Column}
		if i := slices.IndexFunc(known, func(o KeptPart) bool { return o.part() == k.part() }); i >= 0 {
			k.Since = known[i].Since
		}
		kept = append(kept, k)
	}
	return next, kept, nil
}

func hasErrors(s *flags.Snapshot) bool {
	return slices.ContainsFunc(s.Problems(), func(p flags.Problem) bool { return p.Severity == flags.SeverityError })
}

// next compiles definitions that come after those on disk.
func (s *diskState) next(d *flags.Definitions, o flags.CompileOptions) (*flags.Loaded, error) {
	loaded := new(flags.Loaded)
	for _, older := range []*flags.Definitions{s.kept, s.definitions} {
		if older == nil || older == d {
			continue
		}
		if next, err := loaded.Next(older, o); err == nil { // those that cannot be compiled are of no use
			loaded = next
		}
	}
	return loaded.Next(d, o)
}

// store puts the definitions of an answer into the cache that it came through, with what is
// kept beside them.
func (a *answer) store(kept []KeptPart, d *flags.Definitions) {
	if a.write != nil {
		a.unwritten = a.write(kept, d)
	}
}

// logKept logs what is kept, once for each problem, and what need not be kept any more.
func logKept(ctx context.Context, log *slog.Logger, known, kept []KeptPart) {
	for i := range kept {
		k := &kept[i]
		same := func(o KeptPart) bool { return o.part() == k.part() && o.Problem.Error() == k.Problem.Error() }
		if slices.ContainsFunc(known, same) {
			continue
		}
		args := []any{"problem", k.Problem.DefinitionError.Error(), "since", k.Since.UTC().Format(time.RFC3339)}
		if k.Line > 0 {
			args = append(args, "line", k.Line, "column", k.Column)
		}
		log.ErrorContext(ctx, "flag definitions break what has worked; its last good definition stays in force until they are mended", args...)
	}
	for i := range known {
		if !slices.ContainsFunc(kept, func(k KeptPart) bool { return k.part() == known[i].part() }) {
			log.InfoContext(ctx, "what flag definitions had broken is mended or removed", "what", known[i].part(), "since", known[i].Since.UTC().Format(time.RFC3339))
		}
	}
}
