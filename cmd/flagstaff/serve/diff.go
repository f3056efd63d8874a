package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	ffruntime "github.com/flagstaff-go/flagstaff/runtime"
)

// Exit codes of diff, like the exit codes of diff(1).
const (
	exitAbove   = 1 // the values of more subjects change than the limit allows
	exitTrouble = 2
)

// diffHelp has the name of the program once.
const diffHelp = `Diff tells for whom a change of flag definitions changes values, and why.

Usage:

	%s diff [-limit PERCENT] [-now TIME] OLD NEW SUBJECTS

OLD and NEW are definitions documents, as -flags serves them and as the endpoint
/flags/definitions sends them. SUBJECTS has one subject a line: a distinct ID, or a
JSON object as POST /flags takes it, without a key. One of the three may be -, for
standard input.

The exit code is 0 if no more than PERCENT of the subjects get another value of any
flag, 1 if more do, and 2 if the question cannot be answered.

Flags:

  -limit PERCENT
        how many subjects may get another value, such as 1%% or 0.5%% (default 100%%)
  -now TIME
        from which relative dates count, such as 2026-03-01T12:00:00Z (default now)
`

// diff is the subcommand diff: a check that a job can run before
// definitions change.
func (m *Main) diff(ctx context.Context, args []string) int {
	above, err := m.compare(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(m.Stdout, diffHelp, m.name())
		return 0
	case err != nil:
		fmt.Fprintf(m.Stderr, "%s diff: %v\n", m.name(), err)
		return exitTrouble
	case above != "":
		fmt.Fprintf(m.Stderr, "%s diff: %s\n", m.name(), above)
		return exitAbove
	}
	return 0
}

// compare prints the report. It returns a sentence if the limit is exceeded,
// otherwise "".
func (m *Main) compare(ctx context.Context, args []string) (above string, err error) {
	limit := percentage(100)
	set := flag.NewFlagSet("diff", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Var(&limit, "limit", "")
	var now time.Time
	set.Func("now", "", func(text string) (err error) {
		if now, err = time.Parse(time.RFC3339, text); err != nil {
			return errors.New("want a time such as 2026-03-01T12:00:00Z")
		}
		return nil
	})
	if err := set.Parse(args); err != nil {
		return "", err
	}
	if set.NArg() != 3 {
		return "", fmt.Errorf("want OLD, NEW and SUBJECTS, not %d arguments; see %s diff -help", set.NArg(), m.name())
	}
	input := m.Stdin
	open := func(path string) (io.ReadCloser, error) {
		if path != "-" {
			return os.Open(path)
		}
		if input == nil {
			return nil, errors.New("standard input can be read only once")
		}
		r := input
		input = nil
		return io.NopCloser(r), nil
	}
	before, err := m.snapshot(set.Arg(0), open)
	if err != nil {
		return "", err
	}
	after, err := m.snapshot(set.Arg(1), open)
	if err != nil {
		return "", err
	}
	file, err := open(set.Arg(2))
	if err != nil {
		return "", err
	}
	defer file.Close()
	subjects := subjectReader{ctx: ctx, now: now, name: set.Arg(2), lines: bufio.NewReaderSize(file, maxSubject)}
	report := flags.Diff(before, after, subjects.all())
	if subjects.err != nil {
		return "", subjects.err
	}
	if report.Subjects == 0 {
		return "", fmt.Errorf("%s has no subjects", subjects.name)
	}
	fmt.Fprint(m.Stdout, report)
	if share := 100 * float64(report.Changed) / float64(report.Subjects); share > float64(limit) {
		return fmt.Sprintf("%d of %d subjects get another value, more than %s", report.Changed, report.Subjects, &limit), nil
	}
	return "", nil
}

// snapshot compiles a document, and prints which of its flags are broken.
func (m *Main) snapshot(path string, open func(string) (io.ReadCloser, error)) (*flags.Snapshot, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	definitions, err := flags.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range snapshot.Problems() {
		if p.Severity == flags.Error {
			fmt.Fprintf(m.Stderr, "%s: %v\n", path, p)
		}
	}
	return snapshot, nil
}

// maxSubject is the longest accepted line of subjects, in bytes.
const maxSubject = 1 << 20

// A subjectReader reads subjects, one per line.
type subjectReader struct {
	ctx   context.Context
	now   time.Time
	name  string
	lines *bufio.Reader
	err   error // set if all stops before the end of the input
}

func (s *subjectReader) all() iter.Seq[*flags.Request] {
	return func(yield func(*flags.Request) bool) {
		for number := 1; ; number++ {
			line, err := s.lines.ReadSlice('\n')
			if err == bufio.ErrBufferFull {
				err = fmt.Errorf("the line is longer than %d bytes", maxSubject)
			}
			if err != nil && err != io.EOF {
				s.err = fmt.Errorf("%s:%d: %w", s.name, number, err)
				return
			}
			if s.err = s.ctx.Err(); s.err != nil {
				return
			}
			if line := bytes.TrimSpace(line); len(line) > 0 {
				r, err := subjectOf(line)
				if err != nil {
					s.err = fmt.Errorf("%s:%d: %w", s.name, number, err)
					return
				}
				r.Now = s.now
				if !yield(r) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// subjectOf reads a line.
func subjectOf(line []byte) (*flags.Request, error) {
	if line[0] != '{' {
		return &flags.Request{DistinctID: string(line)}, nil
	}
	var body wire.Request
	if err := body.Parse(line); err != nil {
		return nil, err
	}
	r := &flags.Request{
		DistinctID: body.DistinctID, AnonymousID: body.AnonymousID, DeviceID: body.DeviceID,
		Groups: make(map[string]string), Filter: ffruntime.Filter{Kind: ffruntime.All, Tags: body.Tags},
	}
	if !body.HasDistinctID {
		return nil, errors.New("the subject has no distinct_id")
	}
	if body.HasRuntime {
		r.Filter.Kind = body.Runtime
	}
	if body.HasKeys {
		r.Keys = append([]string{}, body.Keys...)
	}
	var names map[string]json.RawMessage
	for _, member := range []struct {
		text []byte
		into any
	}{{body.Groups, &names}, {body.Person, &r.PersonProperties}, {body.GroupProperties, &r.GroupProperties}} {
		if member.text == nil {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(member.text))
		d.UseNumber() // keeps numbers as they are written
		if err := d.Decode(member.into); err != nil {
			return nil, err
		}
	}
	for name := range names {
		if key := body.GroupKey(name); key != "" {
			r.Groups[name] = key
		}
	}
	return r, nil
}

// A percentage is an option like 0.5%.
type percentage float64

func (p *percentage) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) + "%" }

func (p *percentage) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(n >= 0 && n <= 100) {
		return errors.New("want a percentage from 0% to 100%, such as 0.5%")
	}
	*p = percentage(n)
	return nil
}
