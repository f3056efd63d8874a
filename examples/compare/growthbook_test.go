package main_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"testing"

	growthbook "github.com/growthbook/growthbook-golang"
)

type growthBookEngine struct {
	tb     testing.TB
	client *growthbook.Client
	keys   []string
}

// growthBook evaluates one flag at a time. Its tracking plugin reports events.
func growthBook(tb testing.TB, all []flag, events bool) func() engine {
	features := string(encode(tb, growthBookFeatures(all)))
	keys := keysOf(all)
	return func() engine {
		options := []growthbook.ClientOption{growthbook.WithJsonFeatures(features), growthbook.WithLogger(slog.New(slog.DiscardHandler))}
		if events {
			options = append(options, growthbook.WithClientKey("sdk-key"), growthbook.WithGrowthBookTracking(growthbook.TrackingPluginConfig{
				IngestorHost: "http://receiver.invalid",
				HTTPClient:   &http.Client{Transport: receiver(http.StatusOK)},
			}))
		}
		client, err := growthbook.NewClient(context.Background(), options...)
		if err != nil {
			tb.Fatal(err)
		}
		return &growthBookEngine{tb, client, keys}
	}
}

func growthBookFeatures(all []flag) object {
	features := object{}
	for _, f := range all {
		if f.variants != nil {
			var weights []float64
			for range f.variants {
				weights = append(weights, f.share(1))
			}
			features[f.key] = object{"defaultValue": "", "rules": []object{{"variations": f.variants, "weights": weights, "coverage": 1, "hashAttribute": "id"}}}
			continue
		}
		rules := []object{}
		for _, c := range f.conditions {
			condition := object{}
			for _, x := range c.filters {
				switch x.operator {
				case equals:
					condition[x.property] = x.value
				case above:
					condition[x.property] = object{"$gt": x.value}
				case matches:
					condition[x.property] = object{"$regex": x.value}
				case versions:
					condition[x.property] = object{"$vgte": x.value}
				}
			}
			rule := object{"force": true}
			if len(condition) > 0 {
				rule["condition"] = condition
			}
			if c.rollout < 100 {
				rule["coverage"] = float64(c.rollout) / 100
				rule["hashAttribute"] = "id"
			}
			rules = append(rules, rule)
		}
		features[f.key] = object{"defaultValue": false, "rules": rules}
	}
	return features
}

func (e *growthBookEngine) close() {
	if err := e.client.Close(); err != nil {
		e.tb.Error(err)
	}
}

func (e *growthBookEngine) subject(p person) subject {
	attributes := growthbook.Attributes{"id": p.id}
	maps.Copy(attributes, p.properties)
	client, err := e.client.WithAttributes(attributes)
	if err != nil {
		e.tb.Fatal(err)
	}
	return &growthBookSubject{client, e.keys}
}

type growthBookSubject struct {
	client *growthbook.Client
	keys   []string
}

func (s *growthBookSubject) enabled(key string) bool {
	return s.client.EvalFeature(context.Background(), key).On
}

func (s *growthBookSubject) variant(key string) string {
	v, _ := s.client.EvalFeature(context.Background(), key).Value.(string)
	return v
}

func (s *growthBookSubject) all() int { return countEnabled(s, s.keys) }
