// Package pure asks for flags with arguments that have effects, where a comment says so, and
// with others.
package pure

import (
	"context"
	"net/http"
	"strings"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/posthog/posthog-go"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet/testdata/internal/handles"
)

type server struct {
	client *flagstaff.Client
	limits map[string]bool
	list   []bool
	people chan *flagstaff.Person
}

func next() bool             { return true }
func person() *flags.Request { return nil }

// Ask asks for flags.
func (s *server) Ask(ctx context.Context, p *flagstaff.Person, w http.ResponseWriter, r *http.Request, of *openfeature.Client, hog posthog.Client, properties posthog.Properties, n int) {
	p.Bool("new-checkout", false)
	p.Bool("new-checkout", s.limits["a"] && !true)
	p.Bool("new-checkout", next())    // effect
	p.Bool("new-checkout", s.list[n]) // effect
	p.Bool("new-checkout", 10/n > 1)  // effect
	flagstaff.From(r.Context()).Bool("new-checkout", n > 1)
	(<-s.people).Bool("new-checkout", false) // effect
	s.client.For(&flags.Request{DistinctID: r.URL.Path, Person: []flags.Property{flags.IntProperty("n", n)}}).Bool("new-checkout", false)
	s.client.For(person()).Bool("new-checkout", false)       // effect
	s.client.ForRemote(ctx, nil).Bool("new-checkout", false) // effect
	handles.NewCheckout.On(ctx)
	handles.NewCheckout.On(p.Context(ctx)) // effect
	handles.NewCheckout.On(context.Background())
	flags.ByKey("new-checkout").Bool(s.client.Snapshot(), nil, false)
	flagstaff.NewBool("new-checkout", false).On(ctx) // effect
	of.Boolean(ctx, "new-checkout", bool(n > 1), openfeature.NewEvaluationContext("a", map[string]any{"n": n}))
	of.Boolean(ctx, "new-checkout", false, openfeature.EvaluationContext{}, openfeature.WithHooks()) // effect
	_, _ = hog.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "new-checkout", PersonProperties: posthog.NewProperties().Set("n", n)})
	_, _ = hog.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "new-checkout", PersonProperties: properties.Set("n", n)}) // effect
	handles.NewCheckout.On(context.WithValue(ctx, s, n))                                                                   // effect
	p.Bool("new-checkout", strings.HasPrefix(r.URL.Path, "/api") && any(s) != nil)
	p.Bool("new-checkout", any(s) == any(n))                                                                       // effect
	_, _ = hog.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "new-checkout", DistinctId: w.Header().Get("id")}) // effect
}
