package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	unleash "github.com/Unleash/unleash-go-sdk/v5"
	"github.com/Unleash/unleash-go-sdk/v5/context"
)

type unleashEngine struct {
	tb     testing.TB
	client *unleash.Client
	keys   []string
}

// unleashClient starts from a bootstrap; its server answers that nothing has
// changed. It evaluates one flag at a time. Its events are counts per flag, not
// per person. It has no regular expressions. Each client has a folder of its
// own, or it would start from a backup of another client.
func unleashClient(tb testing.TB, all []flag, events bool) func() engine {
	document := encode(tb, unleashFeatures(all))
	keys := keysOf(all)
	return func() engine {
		client, err := unleash.NewClient(
			unleash.WithAppName("compare"), unleash.WithUrl("http://receiver.invalid/api/"),
			unleash.WithListener(countListener{}), unleash.WithBackupPath(tb.TempDir()), unleash.WithDisableMetrics(!events),
			unleash.WithStorage(&unleash.BootstrapStorage{Reader: bytes.NewReader(document)}),
			unleash.WithHttpClient(&http.Client{Transport: unchanged{}}),
		)
		if err != nil {
			tb.Fatal(err)
		}
		client.WaitForReady()
		return &unleashEngine{tb, client, keys}
	}
}

// A countListener counts the evaluations that the client counts for its server,
// which gets the counts once a minute.
type countListener struct{}

func (countListener) OnCount(string, bool)            { delivered.Add(1) }
func (countListener) OnSent(unleash.MetricsData)      {}
func (countListener) OnRegistered(unleash.ClientData) {}

// unchanged answers that nothing has changed, and accepts every request.
type unchanged struct{}

func (unchanged) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return receiver(http.StatusNotModified).RoundTrip(r)
	}
	return receiver(http.StatusAccepted).RoundTrip(r)
}

func unleashFeatures(all []flag) object {
	var features []object
	for _, f := range all {
		strategy := func(rollout int, constraints []object) object {
			return object{"name": "flexibleRollout", "constraints": constraints, "parameters": object{
				"groupId": f.key, "rollout": fmt.Sprint(rollout), "stickiness": "userId",
			}}
		}
		var strategies, variants []object
		for _, v := range f.variants {
			variants = append(variants, object{"name": v, "weight": int(f.share(1000)), "weightType": "variable", "stickiness": "default"})
		}
		if f.variants != nil {
			strategies = append(strategies, strategy(100, nil))
		}
		for _, c := range f.conditions {
			var constraints []object
			for _, x := range c.filters {
				constraint := object{"contextName": x.property}
				switch x.operator {
				case equals:
					constraint["operator"], constraint["values"] = "IN", []any{x.value}
				case above:
					constraint["operator"], constraint["value"] = "NUM_GT", fmt.Sprint(x.value)
				case versions:
					constraint["operator"], constraint["value"], constraint["inverted"] = "SEMVER_LT", x.value, true
				}
				constraints = append(constraints, constraint)
			}
			strategies = append(strategies, strategy(c.rollout, constraints))
		}
		features = append(features, object{"name": f.key, "type": "release", "enabled": true, "strategies": strategies, "variants": variants})
	}
	return object{"version": 2, "features": features}
}

func (e *unleashEngine) close() {
	if err := e.client.Close(); err != nil {
		e.tb.Error(err)
	}
}

func (e *unleashEngine) subject(p person) subject {
	c := context.Context{UserId: p.id, Properties: make(map[string]string)}
	for name, v := range p.properties {
		c.Properties[name] = fmt.Sprint(v)
	}
	return &unleashSubject{e, unleash.WithContext(c), unleash.WithVariantContext(c)}
}

type unleashSubject struct {
	*unleashEngine
	context        unleash.FeatureOption
	variantContext unleash.VariantOption
}

func (s *unleashSubject) enabled(key string) bool { return s.client.IsEnabled(key, s.context) }

func (s *unleashSubject) variant(key string) string {
	return s.client.GetVariant(key, s.variantContext).Name
}

func (s *unleashSubject) all() int { return countEnabled(s, s.keys) }
