package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/position"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// LoaderConfig configures a Loader. The zero value polls as often as the source
// suggests, or every two seconds.
type LoaderConfig struct {
	// Interval is the time between polls. It is shortened by up to a tenth, so
	// that many processes do not poll in step. Zero means the interval that the
	// source suggests if it is a [Pacer], as Remote is, or two seconds.
	Interval time.Duration

	// MaxBackoff limits the pause after failed loads, which doubles, beginning
	// with Interval. Zero means the limit that a Pacer suggests, or Interval, so
	// that a repaired source is live at once.
	MaxBackoff time.Duration

	// Identity distinguishes this Loader from others that poll the same source,
	// for example the name of a machine. It determines when in the interval the
	// Loader polls, so that many Loaders are spread evenly even if all start at
	// once. Empty means a random one.
	Identity string

	// Compile configures the compilation. Its Previous is the last Snapshot of
	// this Loader.
	Compile flags.CompileOptions

	// OnDefinitions is called with new definitions before they are swapped in, with what
	// is kept of older ones (see [Status.Kept]), one call at a time. It must not change
	// them. Nil means no call.
	OnDefinitions func(*flags.Definitions)

	// OnSwap is called after each swap, one call at a time, on the goroutine
	// that loaded. The first time, old is nil. Nil means no call.
	OnSwap func(old, current *flags.Snapshot)

	// OnLoad is called after each attempt to load, by Refresh or Run, with its
	// error, which is nil if the served definitions are current. It comes after
	// OnSwap, one call at a time, and not if a context ended the attempt. Nil
	// means no call.
	OnLoad func(err error)

	// Log receives new definitions with their problems, and errors of Run, each
	// of them when it changes, and again with a count while it goes on. Nil means
	// slog.Default(); to log nothing, use slog.DiscardHandler.
	Log *slog.Logger
}

// paceOf returns what a Source suggests. One that panics suggests nothing; it will
// say so again when it loads.
func paceOf(s Source) (interval, maxBackoff time.Duration) {
	defer func() { _ = recover() }()
	if p, ok := s.(Pacer); ok {
		return p.Pace()
	}
	return 0, 0
}

func (c LoaderConfig) withDefaults(s Source) LoaderConfig {
	interval, backoff := paceOf(s)
	if c.Interval <= 0 {
		c.Interval = cmp.Or(max(interval, 0), 2*time.Second)
	}
	c.MaxBackoff = max(cmp.Or(c.MaxBackoff, backoff), c.Interval)
	if c.Identity == "" {
		c.Identity = strconv.FormatUint(rand.Uint64(), 16)
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	return c
}

// A Loader keeps an Evaluator current from a Source. [NewLoader] makes one, and
// [Loader.Close] ends what it does. A nil or zero Loader has nothing: its methods return
// errors, and an empty Status.
type Loader struct {
	evaluator *flags.Evaluator
	source    Source
	config    LoaderConfig
	schedule  schedule
	remote    *remoteEvaluator // nil: no server is asked

	loading chan struct{} // holds one token: the right to load

	// Of whoever has the token.
	document []byte        // that it has read last, while it is looked at
	loaded   *flags.Loaded // in use
	needs    string        // what was logged of stored knowledge

	follower atomic.Pointer[follower] // of the latest Run that has something to follow

	closing context.Context // ends with Close
	close   context.CancelCauseFunc
	working sync.WaitGroup // calls of Run and Refresh

	mu     sync.Mutex // Add of working excludes close
	status Status
}

// ErrClosed says that a Loader was closed.
var ErrClosed = errors.New("source: the Loader is closed")

var (
	errNoLoader    = errors.New("source: the Loader was not made by NewLoader")
	errNoEvaluator = errors.New("source: the Loader has no Evaluator")
	errNoSource    = errors.New("source: the Loader has no Source")
)

// usable says what a Loader lacks.
func (l *Loader) usable() error {
	switch {
	case l == nil || l.loading == nil:
		return errNoLoader
	case l.evaluator == nil:
		return errNoEvaluator
	case l.source == nil:
		return errNoSource
	}
	return nil
}

// NewLoader returns a Loader. It loads nothing before Refresh or Run, which fail if
// the Evaluator or the Source is nil.
func NewLoader(e *flags.Evaluator, s Source, c LoaderConfig) *Loader {
	c = c.withDefaults(s)
	l := &Loader{
		evaluator: e, source: s, config: c,
		schedule: newSchedule(c.Identity, c.Interval),
		remote:   newRemoteEvaluator(s),
		loading:  make(chan struct{}, 1),
	}
	l.closing, l.close = context.WithCancelCause(context.Background())
	if e != nil {
		e.OnUnknown(l.logUnknown)
		e.OnPatternTimeout(func(pattern string) {
			l.config.Log.Warn("matches of a pattern take too long, and count as none", "pattern", pattern)
		})
	}
	return l
}

// logUnknown logs a key that is asked for, by the program or by clients of a server in it,
// and that no flag has.
func (l *Loader) logUnknown(u flags.UnknownKey) {
	const message = "a flag is asked for that does not exist, and is answered with its fallback"
	switch {
	case u.Full:
		l.config.Log.Warn("more flags are asked for that do not exist, which are counted and not named")
	case len(u.Near) > 0:
		l.config.Log.Warn(message+"; did you mean "+strings.Join(u.Near, " or ")+"?", "key", u.Key)
	default:
		l.config.Log.Warn(message, "key", u.Key)
	}
}

// Close ends the Loader: Run returns, Refresh and what RemoteResults waits for are broken off, and
// Close returns when all their goroutines have. The Evaluator keeps its Snapshot, and
// the Status stays as it is. From then on Run returns at once, Refresh returns
// [ErrClosed], and RemoteResults sends nothing. A second Close does the same, and the error is always
// nil.
//
// A Source that does not heed its context makes Close wait. The functions of
// [LoaderConfig] must not call Close.
func (l *Loader) Close() error {
	if l == nil || l.loading == nil {
		return nil
	}
	l.mu.Lock()
	l.close(ErrClosed)
	l.mu.Unlock()
	l.working.Wait()
	if l.remote != nil {
		l.remote.end()
	}
	return nil
}

// begin returns a context that ends with the Loader, and what is to be called in the
// end. It fails if the Loader is closed.
func (l *Loader) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Err() != nil {
		return nil, nil, ErrClosed
	}
	l.working.Add(1)
	ctx, stop := context.WithCancelCause(ctx)
	detach := context.AfterFunc(l.closing, func() { stop(ErrClosed) })
	return ctx, func() {
		detach()
		stop(nil)
		l.working.Done()
	}, nil
}

// Run loads at once, and then once per interval, at the times that follow from
// the Loader's Identity, and when the server of a [Remote] tells of a change. It returns nil when ctx ends, or when the Loader is closed.
// Errors of the source never end it; they make the pauses longer, a [RetryError] in
// particular. It returns an error only if the Loader has no Evaluator or no Source.
func (l *Loader) Run(ctx context.Context) error {
	if err := l.usable(); err != nil {
		return err
	}
	ctx, end, err := l.begin(ctx)
	if err != nil {
		return nil
	}
	defer end()
	follower := newFollower()
	var following sync.WaitGroup
	defer following.Wait() // ctx has ended by then
	started := false
	var failure failure
	for {
		_ = l.Refresh(follower.in(ctx)) // its error is in the Status, even if there were definitions in a cache
		if ctx.Err() != nil {
			return nil
		}
		if !started && follower.offered() {
			started = true
			l.follower.Store(follower)
			following.Go(func() { follower.run(ctx) })
		}
		status := l.Status()
		failure.log(ctx, l.config.Log, status.Err, l.evaluator.Snapshot() != nil)
		news := follower.news
		if status.Err != nil {
			news = nil // a source that fails is left alone for as long as without a stream
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		case <-time.After(l.schedule.pause(time.Now(), l.backoff(status))):
		}
	}
}

// backoff returns the additional pause before the pause until the next slot,
// which is about an interval.
func (l *Loader) backoff(status Status) time.Duration {
	if status.Err == nil {
		return 0
	}
	n := min(max(status.Failures-1, 0), 30)
	pause := min(l.config.Interval<<n, l.config.MaxBackoff)
	if pause < l.config.Interval { // the shift has overflowed
		pause = l.config.MaxBackoff
	}
	atLeast := max(pause-l.config.Interval, 0)
	if retry, ok := errors.AsType[*RetryError](status.Err); ok {
		atLeast = max(atLeast, retry.After)
	}
	return atLeast
}

// Refresh loads at once, and returns when the snapshot is swapped in or when
// the source has nothing new. It waits for a running load, or for ctx. If the
// source fails and a cache has definitions, Refresh returns nil, and the error
// of the source is in the Status. The error is [ErrClosed] if the Loader is closed.
func (l *Loader) Refresh(ctx context.Context) error {
	if err := l.usable(); err != nil {
		return err
	}
	ctx, end, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	select {
	case l.loading <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.loading }()

	err = l.load(ctx)
	if err != nil {
		if ctx.Err() != nil {
			if errors.Is(context.Cause(ctx), ErrClosed) {
				return ErrClosed
			}
			return err
		}
		l.mu.Lock()
		l.status.Err = err
		l.status.Failures++
		l.mu.Unlock()
	}
	if l.config.OnLoad != nil {
		l.config.OnLoad(l.Status().Err)
	}
	return err
}

func (l *Loader) load(ctx context.Context) (err error) {
	defer func() {
		l.document = nil
		if r := recover(); r != nil {
			err = fmt.Errorf("source: loading panicked: %v", r)
		}
	}()
	a, err := l.answer(ctx, l.Status().Version)
	if err != nil {
		l.noteCache(ctx, a)
	}
	if errors.Is(err, ErrNotModified) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.status.Checked, l.status.Err, l.status.Failures = time.Now(), nil, 0
		l.status.Origin = a.origin
		if a.version != "" {
			l.status.Version = a.version
		}
		return nil
	}
	if err != nil {
		return err
	}
	loaded, kept, err := l.next(&a)
	if err == nil {
		a.store(kept, loaded.KeptDefinitions())
	} else {
		a.store(nil, nil) // another program may be able to compile them
		l.noteCache(ctx, a)
		return errors.Join(a.stale, err)
	}
	if l.config.OnDefinitions != nil {
		l.config.OnDefinitions(loaded.Definitions)
	}
	s := loaded.Snapshot
	if l.loaded = loaded; !keepsLast(l.source) {
		l.loaded = &flags.Loaded{Snapshot: s}
	}
	old := l.evaluator.Swap(s)
	l.noteCache(ctx, a)
	l.mu.Lock()
	known := l.status.Kept
	status := Status{Version: a.version, Origin: a.origin, Fetched: a.fetched, Loaded: time.Now(), Problems: s.Problems(), Kept: kept}
	status.Checked, status.CacheErr = status.Loaded, a.unwritten
	if r, ok := remoteOf(l.source); ok && !r.Evaluate {
		status.Problems = append(slices.Clip(status.Problems), remoteNotes(s)...)
	}
	if a.stale != nil {
		status.Checked, status.Err, status.Failures = a.fetched, a.stale, l.status.Failures+1
	}
	l.status = status
	l.mu.Unlock()
	l.log(ctx, s, status, known)
	if l.config.OnSwap != nil {
		l.config.OnSwap(old, s)
	}
	return nil
}

// An answer has everything that a Loader records about a load.
type answer struct {
	definitions *flags.Definitions
	version     string
	origin      string
	fetched     time.Time // when the definitions left their origin
	stale       error     // why the origin may have newer definitions; nil if it has not

	// Why definitions on disk cannot be used, and why they cannot be replaced.
	unread, unwritten error

	onDisk *diskState                                        // definitions that a cache has, nil for none
	write  func(kept []KeptPart, d *flags.Definitions) error // puts the definitions into a cache, nil for none
}

// A diskState is what a cache has: definitions, and what was kept of older ones.
type diskState struct {
	definitions *flags.Definitions
	kept        *flags.Definitions // nil: nothing
	list        []KeptPart
}

// warn logs what is wrong with definitions on disk.
func (a *answer) warn(ctx context.Context, log *slog.Logger) {
	if a.unread != nil {
		log.WarnContext(ctx, "flag definitions on disk cannot be used", "error", a.unread)
	}
	if a.unwritten != nil {
		log.WarnContext(ctx, "flag definitions cannot be kept on disk", "error", a.unwritten)
	}
}

// An answerer is a Source that gives complete answers.
type answerer interface {
	answer(ctx context.Context, have string, decode decoding) (answer, error)
}

func (l *Loader) answer(ctx context.Context, have string) (answer, error) {
	if s, ok := l.source.(answerer); ok {
		return s.answer(ctx, have, l.decode)
	}
	d, version, err := l.loadSource(ctx, have)
	return answer{definitions: d, version: version, origin: originOf(l.source), fetched: time.Now()}, err
}

// loadSource asks the Source. The Loader reads the documents of a File and a
// Remote by itself. A type that has one of them embedded is asked by its own Load, which may do
// more.
func (l *Loader) loadSource(ctx context.Context, have string) (*flags.Definitions, string, error) {
	switch s := l.source.(type) {
	case *File:
		return load(ctx, *s, have, l.decode)
	case *Remote:
		return load(ctx, *s, have, l.decode)
	case File, Remote:
		return load(ctx, s.(DocumentSource), have, l.decode)
	}
	return l.source.Load(ctx, have)
}

// originOf returns the origin that a Source states, or "".
func originOf(s Source) string {
	if o, ok := s.(Originator); ok {
		return o.Origin()
	}
	return ""
}

// noteCache records and logs what is wrong with definitions on disk, each thing
// when it changes.
func (l *Loader) noteCache(ctx context.Context, a answer) {
	err := cmp.Or(a.unwritten, a.unread)
	if err == nil {
		return
	}
	l.mu.Lock()
	known := l.status.CacheErr
	l.status.CacheErr = err
	l.mu.Unlock()
	if known == nil || known.Error() != err.Error() {
		a.warn(ctx, l.config.Log)
	}
}

// remoteNotes returns a note for each flag whose value can be another on the server.
func remoteNotes(s *flags.Snapshot) []flags.Problem {
	var notes []flags.Problem
	for key := range s.Keys() {
		if len(s.Problems())+len(notes) >= served.MaxProblems {
			break
		}
		if needs := s.NeedsOf(key); !needs.IsZero() {
			notes = append(notes, flags.Problem{Severity: flags.SeverityNote, DefinitionError: &flags.DefinitionError{
				Flag: key, Err: fmt.Errorf("it looks at what only the server knows: %s", needs),
				Hint: "give the request what it lacks, or set Remote.Evaluate",
			}})
		}
	}
	return notes
}

// log logs a swap with the worst problems, so that a broken flag is noticed by
// the person who has changed it. known is what was kept before.
func (l *Loader) log(ctx context.Context, s *flags.Snapshot, status Status, known []KeptPart) {
	problems := s.Problems()
	log := l.config.Log
	log.InfoContext(ctx, "flag definitions loaded", "flags", s.Len(), "problems", len(problems), "version", status.Version, "origin", status.Origin)
	l.logNeeds(ctx, status.Problems[len(problems):])
	logKept(ctx, log, known, status.Kept)
	place := l.placesOf(s)
	told := 0
	const maxLogged = 20 // problems
	for _, p := range problems {
		if slices.ContainsFunc(status.Kept, func(k KeptPart) bool { return k.Problem.DefinitionError == p.DefinitionError }) {
			continue
		}
		if told++; told > maxLogged {
			log.WarnContext(ctx, "more problems in flag definitions", "count", len(problems)-len(status.Kept)-maxLogged)
			return
		}
		level := slog.LevelInfo
		switch p.Severity {
		case flags.SeverityError:
			level = slog.LevelError
		case flags.SeverityWarning:
			level = slog.LevelWarn
		}
		args := []any{"problem", p.DefinitionError.Error()}
		if at := place(p); at.Line > 0 {
			args = append(args, "line", at.Line, "column", at.Column)
		}
		log.Log(ctx, level, "problem in flag definitions", args...)
	}
}

// logNeeds logs which flags look at what only the server knows, when they are others than
// before.
func (l *Loader) logNeeds(ctx context.Context, notes []flags.Problem) {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(n.DefinitionError.Error() + "\n")
	}
	if b.String() == l.needs {
		return
	}
	if l.needs = b.String(); len(notes) > 0 {
		l.config.Log.InfoContext(ctx, "flags look at what only the server knows, so their values can differ from the server's", "flags", len(notes), "first", notes[0].DefinitionError.Error())
	}
}

// placesOf returns what finds the places of problems in the document that was read last. A
// document of one line is for programs, and its places say nothing.
func (l *Loader) placesOf(s *flags.Snapshot) func(flags.Problem) position.Position {
	if len(s.Problems()) == 0 || bytes.IndexByte(l.document, '\n') < 0 {
		return func(flags.Problem) position.Position { return position.Position{} }
	}
	return position.New(l.document).Problem
}

// decode reads a document, and keeps its text while what it says is looked at.
func (l *Loader) decode(document []byte) (*flags.Definitions, error) {
	d, err := flags.Decode(bytes.NewReader(document))
	if err == nil {
		l.document = document
	} else if syntax, ok := errors.AsType[*jsonscan.SyntaxError](err); ok && bytes.IndexByte(document, '\n') >= 0 {
		at := position.New(document).Offset(syntax.Offset)
		err = fmt.Errorf("line %d, column %d: %w", at.Line, at.Column, err)
	}
	return d, err
}

// Status returns the state of the Loader and the result of its last attempt.
func (l *Loader) Status() Status {
	if l == nil {
		return Status{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	status := l.status
	status.Following = l.follower.Load().isOpen()
	status.Unknown = l.evaluator.Unknown()
	status.PatternTimeouts = l.evaluator.PatternTimeouts()
	if l.remote != nil {
		status.EvaluateRequests = l.remote.status()
	}
	return status
}
