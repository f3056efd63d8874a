package openfeature

import (
	"context"
	"errors"
	"fmt"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A life is the time between Init and Shutdown.
type life struct {
	end   context.CancelFunc // ends the goroutine that follows the Source
	ended chan struct{}      // closed when this goroutine has ended

	state     of.State
	attempted bool  // a load was attempted
	err       error // of the last attempt
}

// errShutdown is the error of Init if Shutdown comes first.
var errShutdown = errors.New("openfeature: the provider was shut down")

// Init waits for the first definitions. If there are none in time, the error
// says why. With a Source, the Provider keeps trying after an error, and
// reports to the SDK when it is ready.
func (p *Provider) Init(evaluation of.EvaluationContext) error {
	return p.InitWithContext(context.Background(), evaluation)
}

// InitWithContext is like Init, and also ends with ctx. The Provider follows
// its Source until Shutdown even so.
func (p *Provider) InitWithContext(ctx context.Context, _ of.EvaluationContext) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.InitTimeout)
	defer cancel()
	l := p.begin(ctx)
	for {
		changed, err := p.settle(l)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p.giveUp(l, ctx.Err())
		}
	}
}

// begin begins a life, unless there is one: a Provider of several domains is
// initialised for each of them.
func (p *Provider) begin(ctx context.Context) *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life != nil {
		return p.life
	}
	for len(p.events) > 0 { // events of the last life
		<-p.events
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	l := &life{end: end, ended: make(chan struct{}), state: of.NotReadyState}
	p.life = l
	if p.loader == nil {
		close(l.ended)
		return l
	}
	go func() {
		defer close(l.ended)
		_ = p.loader.Run(ctx) // returns nil when it is ended
	}()
	return l
}

// settle returns the result of Init, or a channel that is closed when Init must
// look again.
func (p *Provider) settle(l *life) (changed <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.life != l:
		return nil, errShutdown
	case p.evaluator.Snapshot() != nil && (l.attempted || p.loader == nil):
		if l.state != of.StaleState {
			l.state = of.ReadyState
		}
		return nil, nil
	case l.err != nil:
		l.state = of.ErrorState
		return nil, l.err
	}
	return p.changed, nil
}

// giveUp returns the result of Init when its time is over. It succeeds if there
// are definitions after all, which were swapped in without a report, or which
// are older.
func (p *Provider) giveUp(l *life, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.evaluator.Snapshot() != nil
	if l.state == of.NotReadyState {
		l.state = of.ErrorState
		if found {
			l.state = of.ReadyState
		}
	}
	if found {
		return nil
	}
	return fmt.Errorf("openfeature: no flag definitions yet: %w", err)
}

// Shutdown ends everything that Init has started, and waits for it.
func (p *Provider) Shutdown() { _ = p.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is like Shutdown, but waits no longer than ctx, and then
// returns the error of ctx.
func (p *Provider) ShutdownWithContext(ctx context.Context) error {
	p.mu.Lock()
	l := p.life
	p.life = nil
	p.wakeLocked()
	p.mu.Unlock()
	if l == nil {
		return nil
	}
	l.end()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxEvents is how many events may wait. If there are more, which happens only
// while nobody listens, the oldest are dropped.
const maxEvents = 16

// EventChannel returns the channel from which the SDK reads events.
func (p *Provider) EventChannel() <-chan of.Event { return p.events }

// OnSwap tells the Provider that other definitions are served. It can be the
// OnSwap of a LoaderConfig of package source, for programs that keep the
// Evaluator current without [Options.Source].
func (p *Provider) OnSwap(old, current *flags.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.wakeLocked()
	switch {
	case p.life == nil || p.life.state == of.NotReadyState: // Init will report it
	case current == nil:
		p.life.state = of.ErrorState
		p.emitLocked(of.ProviderError, of.ProviderEventDetails{Message: "there are no flag definitions any more", ErrorCode: of.ProviderNotReadyCode})
	default:
		p.recoverLocked()
		if old == nil {
			return
		}
		if keys := current.Changed(old); len(keys) > 0 {
			p.emitLocked(of.ProviderConfigChange, of.ProviderEventDetails{Message: "flag definitions have changed", FlagChanges: keys})
		}
	}
}

// OnLoad tells the Provider the result of an attempt to load definitions. It
// can be the OnLoad of a LoaderConfig of package source, for programs that keep
// the Evaluator current without [Options.Source].
func (p *Provider) OnLoad(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.wakeLocked()
	l := p.life
	if l == nil {
		return
	}
	l.attempted, l.err = true, err
	switch {
	case err == nil && p.evaluator.Snapshot() != nil:
		p.recoverLocked()
	case err != nil && l.state == of.ReadyState:
		l.state = of.StaleState
		p.emitLocked(of.ProviderStale, of.ProviderEventDetails{Message: err.Error()})
	}
}

// recoverLocked reports that stale or missing definitions are current again.
func (p *Provider) recoverLocked() {
	if l := p.life; l.state == of.StaleState || l.state == of.ErrorState {
		l.state = of.ReadyState
		p.emitLocked(of.ProviderReady, of.ProviderEventDetails{Message: "flag definitions are current"})
	}
}

func (p *Provider) emitLocked(t of.EventType, d of.ProviderEventDetails) {
	e := of.Event{ProviderName: p.options.Name, EventType: t, ProviderEventDetails: d}
	for {
		select {
		case p.events <- e:
			return
		default:
		}
		select {
		case <-p.events:
		default:
		}
	}
}

// wakeLocked makes Init look again.
func (p *Provider) wakeLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}
