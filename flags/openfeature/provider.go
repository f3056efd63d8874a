package openfeature

import (
	"cmp"
	"context"
	"sync"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// Options configure a Provider. The zero value evaluates with an Evaluator that
// the program keeps current.
type Options struct {
	// Name is the name of the Provider. Empty means "flagstaff".
	Name string

	// FlagSetID is the set to which the flags belong, such as the name of the project. It
	// is in the metadata of evaluations, where telemetry hooks find it. Empty: it is left
	// out.
	FlagSetID string

	// Source provides the definitions: Init loads them into the Evaluator and
	// follows them until Shutdown. Nil means that the program swaps definitions
	// in itself. It should then report them by OnSwap and OnLoad.
	Source source.Source

	// Loader configures how Source is followed.
	Loader source.LoaderConfig

	// InitTimeout is how long Init waits for the first definitions. Zero means
	// 10 s.
	InitTimeout time.Duration

	// DefaultID is the distinct ID for a context without a targeting key. If it
	// is empty, these evaluations fail with TARGETING_KEY_MISSING.
	DefaultID string

	// Filter hides flags by runtime and evaluation contexts. A context can
	// override its evaluation contexts. The zero value hides no flags.
	Filter runtime.Filter

	// RemoteResults lets a server evaluate flags that depend on what only the server knows. Nil
	// means [source.Loader.RemoteResults] if the Source can be asked, and otherwise that no
	// server is asked.
	RemoteResults func(context.Context, *flags.Request) *flags.RemoteResults

	// Reporter receives tracked events, usually a [*capture.Client]. Nil
	// discards them.
	Reporter Reporter

	// Exposures reports each evaluation to the Reporter as well, which
	// experiments need.
	Exposures bool

	// Hooks run with every evaluation, after the hooks of the API, the client
	// and the call.
	Hooks []of.Hook
}

// A Reporter takes events. Its methods must not block, like the methods of
// [*capture.Client] do not.
type Reporter interface {
	Capture(capture.ClientEvent) error
	Exposed(capture.Exposure)
}

// A Provider evaluates flags for the OpenFeature SDK within the process. It is
// safe for concurrent use, and may be set for several domains of one API.
type Provider struct {
	evaluator *flags.Evaluator
	options   Options
	loader    *source.Loader // nil without Source
	events    chan of.Event

	mu      sync.Mutex
	life    *life         // from Init to Shutdown, otherwise nil
	changed chan struct{} // closed and replaced when something changes that Init waits for
}

var (
	_ of.FeatureProvider          = (*Provider)(nil)
	_ of.ContextAwareStateHandler = (*Provider)(nil)
	_ of.EventHandler             = (*Provider)(nil)
	_ of.Tracker                  = (*Provider)(nil)
)

// NewProvider returns a Provider that evaluates with an Evaluator; nil means
// one of its own. It loads nothing before Init, which the SDK calls.
func NewProvider(e *flags.Evaluator, o Options) *Provider {
	e = cmp.Or(e, new(flags.Evaluator))
	o.Name = cmp.Or(o.Name, "flagstaff")
	o.InitTimeout = cmp.Or(o.InitTimeout, 10*time.Second)
	p := &Provider{evaluator: e, options: o, events: make(chan of.Event, maxEvents), changed: make(chan struct{})}
	if o.Source != nil {
		c := o.Loader
		c.OnSwap = func(old, current *flags.Snapshot) {
			p.OnSwap(old, current)
			if o.Loader.OnSwap != nil {
				o.Loader.OnSwap(old, current)
			}
		}
		c.OnLoad = func(err error) {
			p.OnLoad(err)
			if o.Loader.OnLoad != nil {
				o.Loader.OnLoad(err)
			}
		}
		p.loader = source.NewLoader(e, o.Source, c)
		if o.RemoteResults == nil && p.loader.EvaluatesRemotely() {
			p.options.RemoteResults = p.loader.RemoteResults
		}
	}
	return p
}

// Metadata returns the Provider's name.
func (p *Provider) Metadata() of.Metadata { return of.Metadata{Name: p.options.Name} }

// Hooks returns the hooks of the Options.
func (p *Provider) Hooks() []of.Hook { return p.options.Hooks }

// Track reports an event of the person in the context. The value of the details
// is sent as the property value, unless it is 0.
func (p *Provider) Track(_ context.Context, name string, evaluation of.EvaluationContext, details of.TrackingEventDetails) {
	if p.options.Reporter == nil {
		return
	}
	properties := details.Attributes()
	if v := details.Value(); v != 0 {
		properties["value"] = v
	}
	var r flags.Request
	if groups := evaluation.Attribute(groupsKey); groups != nil {
		_ = setGroups(&r, groups) // anything but a map means no groups
	}
	// The Reporter counts events that it cannot take.
	_ = p.options.Reporter.Capture(capture.ClientEvent{
		Name: name, DistinctID: cmp.Or(evaluation.TargetingKey(), p.options.DefaultID), Properties: properties, Groups: r.Groups,
	})
}
