package tool

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/foreign"
	"github.com/flagstaff-go/flagstaff/cmd/internal/release"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
)

const (
	compareWorkers  = 8                // requests at a time
	compareTime     = 30 * time.Second // for one of them
	compareFailures = 5                // subjects one after the other, after which the product is given up
)

// A compareCall is one call of the command.
type compareCall struct {
	Connection
	from, at, environment string
	keys, attributes      []string
	persons               int
	asJSON                bool
}

// compareCommand asks another product for the values of the same flags.
func (p *Program) compareCommand() *cli.Command {
	c := compareCall{persons: 1000}
	products := strings.Join(foreign.Products(), ", ")
	return &cli.Command{
		Name:      "compare",
		Category:  ofFiles,
		Usage:     "count the differences from what another product answers",
		UsageText: ProgramName + " compare -from PRODUCT -at URL [FLAGS] FILE [SUBJECTS]",
		Description: `Compare asks the running system of another product for the values of all flags, for one
subject after the other, evaluates the definitions document FILE for the same subjects, and
counts the differences by flag, with an example of each. The subjects are the same as for diff:
the lines of the file SUBJECTS or, without it, random persons. One of the files may be "-", for
standard input. The products are
` + products + `.

Flagd, flipt, go-feature-flag and configcat (its proxy) are asked by OFREP, unleash by its
frontend API, launchdarkly (or its Relay Proxy) as client-side SDKs ask it, and growthbook
(its proxy) by remote evaluation. The key is in FLAGSTAFF_FROM_KEY: the client-side ID of
launchdarkly, a frontend token of unleash, the client key of growthbook, the SDK key of
configcat, and of the others what they want, if anything. A flag that is not in the answer,
such as one of launchdarkly that is not for client-side SDKs, counts as not answered. Null is
what the caller falls back on.

The exit code is 1 if there is a difference, and also if the comparison has failed or was
stopped, after what was found so far.

Examples:

	flagstaff import -from flipt -bucket-version 2.11 -o flags.json features.yaml
	flagstaff compare -from flipt -at http://127.0.0.1:8080 flags.json subjects.txt
	FLAGSTAFF_FROM_KEY=5f0c1a2b flagstaff compare -from launchdarkly -at https://clientsdk.launchdarkly.com flags.json`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "ask `PRODUCT`: " + products, Destination: &c.from},
			&cli.StringFlag{Name: "at", Usage: "the `URL` of the other product", Destination: &c.at},
			&cli.StringFlag{Name: "environment", Usage: "ask for `NAME`: a client-side ID of launchdarkly, a namespace of flipt, an SDK identifier of configcat's proxy", Destination: &c.environment},
			&cli.StringSliceFlag{Name: "flags", Usage: "compare the flag `KEY` only; can be repeated", Destination: &c.keys},
			&cli.StringSliceFlag{Name: "map", Usage: "`ATTRIBUTE=PROPERTY`, as for the import; can be repeated", Destination: &c.attributes},
			&cli.IntFlag{Name: "persons", Value: c.persons, Usage: "how many random persons `N` there are without SUBJECTS (default 1000)", Destination: &c.persons},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON", Destination: &c.asJSON},
		}, c.Trust()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args := cmd.Args().Slice()
			if len(args) != 2 {
				var err error
				if args, err = WantArgs(cmd, "FILE"); err != nil {
					return err
				}
			}
			return p.compare(ctx, &c, args)
		},
	}
}

func (p *Program) compare(ctx context.Context, c *compareCall, args []string) error {
	switch {
	case c.from == "":
		return WrongUsage("flag -from is needed: one of %s", strings.Join(foreign.Products(), ", "))
	case !slices.Contains(foreign.Products(), c.from):
		return BadValue("from", c.from, "one of "+strings.Join(foreign.Products(), ", "))
	case c.at == "":
		return WrongUsage("flag -at is needed: the URL of %s", c.from)
	case c.persons < 1 || c.persons > maxPersons:
		return BadValue("persons", strconv.Itoa(c.persons), fmt.Sprintf("a number from 1 to %d", maxPersons))
	}
	attributes, err := pairs("map", "ATTRIBUTE=PROPERTY, such as mail=email", c.attributes)
	if err != nil {
		return err
	}
	client, key, err := p.ForeignClient(&c.Connection, c.at, compareTime)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // it could take the key elsewhere
	config := foreign.Config{
		From: c.from, URL: c.at, Environment: c.environment, Key: key, Attributes: attributes, Types: make(map[string]string),
		HTTP: client, UserAgent: "flagstaff/" + release.Get().Version,
	}
	if _, err := foreign.New(config); err != nil {
		return WrongUsage("%w", err)
	}
	files := Opener{Stdin: p.Stdin}
	d, err := files.document(args[0])
	if err != nil {
		return err
	}
	a := &answers{report: compareReport{From: c.from, Flags: []comparedFlag{}}}
	var definitions *flags.Definitions
	if definitions, a.snapshot, err = d.snapshot(); err != nil {
		return err
	}
	p.warn(d, a.snapshot)
	for i := range definitions.Flags {
		f := &definitions.Flags[i]
		if len(c.keys) == 0 || slices.Contains(c.keys, f.Key) {
			config.Types[f.Key] = typeOf(f)
			a.report.Flags = append(a.report.Flags, comparedFlag{Key: f.Key})
			a.rules = append(a.rules, f.Filters.RuleSet)
		}
	}
	for _, key := range c.keys {
		if _, ok := config.Types[key]; !ok {
			return unknownFlag(d, definitions, key)
		}
	}
	if a.client, err = foreign.New(config); err != nil {
		return err
	}
	subjects, reader := a.fitting(randomPersons(ctx, c.persons, time.Time{}, definitions)), (*subjectReader)(nil)
	if len(args) == 2 {
		file, err := files.Open(args[1])
		if err != nil {
			return err
		}
		defer file.Close()
		reader = &subjectReader{ctx: ctx, name: args[1], lines: bufio.NewReaderSize(file, maxSubject)}
		subjects = reader.all()
	}
	done, stop := p.Counting("asked for %d subjects")
	err = a.ask(ctx, subjects, done)
	stop()
	switch {
	case err != nil:
	case reader != nil:
		err = reader.err
		if err == nil && a.report.Subjects == 0 {
			return fmt.Errorf("%s has no subjects", reader.name)
		}
	}
	a.report.Complete = err == nil
	if a.failed > 0 && err == nil {
		fmt.Fprintln(p.Stderr, Printable(fmt.Sprintf("%s failed, the last time with: %v", Count(a.failed, "request"), a.lastFailure)))
	}
	if a.report.Subjects > 0 {
		if printed := a.print(p, c.asJSON); printed != nil {
			return printed
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped after %s", Count(a.report.Subjects, "subject"))
	case err != nil:
		return err
	case a.report.Comparisons == 0:
		return fmt.Errorf("%s has answered nothing that could be compared", c.from)
	case a.report.Differences > 0:
		return ErrFound
	}
	return nil
}

// typeOf returns the type of a flag's values.
func typeOf(f *flags.Flag) string {
	switch set := f.Filters.RuleSet; {
	case set != nil:
		return set.ReturnType
	case f.Filters.Multivariate != nil && len(f.Filters.Multivariate.Variants) > 0:
		return "string"
	}
	return "boolean"
}

// A compareReport is what -json prints.
type compareReport struct {
	From        string         `json:"from"`
	Complete    bool           `json:"complete"` // nothing has stopped it
	Subjects    int            `json:"subjects"`
	Comparisons int            `json:"comparisons"`
	Differences int            `json:"differences"`
	NotAnswered int            `json:"not_answered"` // flags of subjects, which are not compared
	Flags       []comparedFlag `json:"flags"`
}

type comparedFlag struct {
	Key         string          `json:"key"`
	Comparisons int             `json:"comparisons"`
	Differences int             `json:"differences"`
	NotAnswered int             `json:"not_answered"`
	Example     *compareExample `json:"example"` // the first difference
}

type compareExample struct {
	Subject map[string]any  `json:"subject"` // as a line of SUBJECTS has it
	There   json.RawMessage `json:"there"`
	Here    json.RawMessage `json:"here"`
	Why     string          `json:"why"` // of the value here

	number int // of the subject
}

// answers compares the answers of another product.
type answers struct {
	client   *foreign.Client
	snapshot *flags.Snapshot
	rules    []*flags.RuleSet // of the flags in the report

	mu          sync.Mutex
	report      compareReport
	unaskable   int // subjects
	whyNot      error
	failed      int // subjects
	inARow      int
	lastFailure error
}

// fitting returns random persons without the properties that cannot be put to the product.
func (a *answers) fitting(subjects iter.Seq[*flags.Request]) iter.Seq[*flags.Request] {
	return func(yield func(*flags.Request) bool) {
		for r := range subjects {
			if !yield(a.client.Fitting(r)) {
				return
			}
		}
	}
}

// ask asks for all subjects, several at a time. It returns the error that has stopped it.
func (a *answers) ask(ctx context.Context, subjects iter.Seq[*flags.Request], done func(int)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type numbered struct {
		number  int
		request *flags.Request
	}
	queue := make(chan numbered)
	var workers sync.WaitGroup
	for range compareWorkers {
		workers.Go(func() {
			for s := range queue {
				if err := a.compare(ctx, s.number, s.request, done); err != nil {
					stop(err)
				}
			}
		})
	}
	number := 0
	for r := range subjects {
		number++
		select {
		case queue <- numbered{number, r}:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}

// compare compares the flags of one subject. The error is one that the next subject meets, too.
func (a *answers) compare(ctx context.Context, number int, r *flags.Request, done func(int)) error {
	r = a.client.Complete(r)
	there, err := a.client.Values(ctx, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var here *flags.Results
	if err == nil {
		r.Now, r.Keys = time.Now(), nil
		here = a.snapshot.Evaluate(r)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	failure, isFailure := errors.AsType[*foreign.Error](err)
	switch {
	case err == nil:
		a.inARow = 0
	case isFailure:
		a.failed++
		a.inARow++
		a.lastFailure = err
		if failure.Final {
			return err
		}
		if a.inARow >= compareFailures {
			return fmt.Errorf("%s in a row were not answered: %w", Count(a.inARow, "subject"), err)
		}
	default:
		if a.unaskable++; a.whyNot == nil {
			a.whyNot = err
		}
	}
	a.report.Subjects++
	for i := range a.report.Flags {
		f := &a.report.Flags[i]
		value, ok := there[f.Key]
		var result flags.Result
		if ok {
			result, ok = a.result(here, f.Key, r)
		}
		if !ok {
			f.NotAnswered++
			a.report.NotAnswered++
			continue
		}
		f.Comparisons++
		a.report.Comparisons++
		if own := valueOf(&result); !sameJSON(own, value) {
			f.Differences++
			a.report.Differences++
			if f.Example == nil || number < f.Example.number {
				f.Example = &compareExample{subjectLine(r), value, own, a.why(i, r), number}
			}
		}
	}
	done(a.report.Subjects)
	return nil
}

// result returns what a flag gives here, also an inactive one. It is not ok if the subject may not
// see the flag.
func (a *answers) result(here *flags.Results, key string, r *flags.Request) (flags.Result, bool) {
	if result, ok := here.Get(key); ok {
		return result, true
	}
	result, err := a.snapshot.Flag(key, r)
	return result, err == nil
}

// valueOf returns a value as JSON: null is what the caller falls back on.
func valueOf(r *flags.Result) json.RawMessage {
	if raw := r.JSON(); raw != nil {
		if r.Failed || r.Reason.Code == flags.ReasonFlagDisabled {
			return json.RawMessage("null")
		}
		return raw
	}
	raw, _ := json.Marshal(r.Value())
	return raw
}

// sameJSON reports whether two texts of JSON mean the same.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return string(a) == string(b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// why says which rule or condition set has decided.
func (a *answers) why(i int, r *flags.Request) string {
	trace, err := a.snapshot.Explain(a.report.Flags[i].Key, r)
	if err != nil {
		return err.Error()
	}
	n := trace.Reason.ConditionIndex
	if set := a.rules[i]; set != nil && n >= 0 && n < len(set.Rules) && set.Rules[n].Description != nil {
		return fmt.Sprintf("%s (%s)", trace.Why, *set.Rules[n].Description)
	}
	return trace.Why
}

// subjectLine returns a subject as a line of SUBJECTS has it.
func subjectLine(r *flags.Request) map[string]any {
	line := map[string]any{"distinct_id": r.DistinctID}
	if len(r.PersonProperties) > 0 {
		line["person_properties"] = r.PersonProperties
	}
	if len(r.Groups) > 0 {
		line["groups"] = r.Groups
	}
	if len(r.GroupProperties) > 0 {
		line["group_properties"] = r.GroupProperties
	}
	return line
}

func (a *answers) print(p *Program, asJSON bool) error {
	if asJSON {
		return p.JSON(&a.report)
	}
	var lines, never []string
	differ := 0
	for i := range a.report.Flags {
		f := &a.report.Flags[i]
		if f.Comparisons == 0 {
			never = append(never, f.Key)
		}
		if e := f.Example; e != nil {
			differ++
			lines = append(lines, fmt.Sprintf("%s: %d of %d differ, such as %q: %s there, %s here; %s",
				f.Key, f.Differences, f.Comparisons, e.Subject["distinct_id"], words.Shorten(string(e.There), 80), words.Shorten(string(e.Here), 80), e.Why))
		}
	}
	if len(never) > 0 {
		const shown = 20
		text := strings.Join(never[:min(shown, len(never))], ", ")
		if more := len(never) - shown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, "note: never answered: "+text)
	}
	if a.unaskable > 0 {
		lines = append(lines, fmt.Sprintf("note: %s %v", Count(a.unaskable, "subject"), a.whyNot))
	}
	result := "no differences"
	if differ > 0 {
		result = fmt.Sprintf("%s in %s", Count(a.report.Differences, "difference"), Count(differ, "flag"))
	}
	return p.PrintLines(append(lines, fmt.Sprintf("%s, %s, %s: %s, %d not answered", Count(len(a.report.Flags), "flag"),
		Count(a.report.Subjects, "subject"), Count(a.report.Comparisons, "comparison"), result, a.report.NotAnswered))...)
}
