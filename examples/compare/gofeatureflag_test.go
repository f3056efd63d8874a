package main_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ffclient "github.com/thomaspoignant/go-feature-flag"
	"github.com/thomaspoignant/go-feature-flag/exporter"
	"github.com/thomaspoignant/go-feature-flag/ffcontext"
	"github.com/thomaspoignant/go-feature-flag/retriever/fileretriever"
	"github.com/thomaspoignant/go-feature-flag/utils/fflog"
)

type goFeatureFlagEngine struct{ client *ffclient.GoFeatureFlag }

// goFeatureFlag reads a file. Its queries have no regular expressions.
func goFeatureFlag(tb testing.TB, all []flag, events bool) func() engine {
	path := file(tb, encode(tb, goFeatureFlagDefinitions(all)))
	return func() engine {
		config := ffclient.Config{PollingInterval: -1, FileFormat: "json", Retriever: &fileretriever.Retriever{Path: path}}
		if events {
			config.DataExporter = ffclient.DataExporter{Exporter: forgetfulExporter{}}
		}
		client, err := ffclient.New(config)
		if err != nil {
			tb.Fatal(err)
		}
		return goFeatureFlagEngine{client}
	}
}

// A forgetfulExporter takes events in bulk, like the exporters for files and
// services.
type forgetfulExporter struct{}

func (forgetfulExporter) IsBulk() bool { return true }

func (forgetfulExporter) Export(_ context.Context, _ *fflog.FFLogger, events []exporter.ExportableEvent) error {
	delivered.Add(int64(len(events)))
	return nil
}

func goFeatureFlagDefinitions(all []flag) object {
	operators := map[operator]string{equals: "eq", above: "gt", versions: "ge"}
	flags := object{}
	for _, f := range all {
		if f.variants != nil {
			variations, shares := object{}, object{}
			for _, v := range f.variants {
				variations[v], shares[v] = v, f.share(100)
			}
			flags[f.key] = object{"variations": variations, "defaultRule": object{"percentage": shares}}
			continue
		}
		definition := object{"variations": object{"on": true, "off": false}, "defaultRule": object{"variation": "off"}}
		var rules []object
		for _, c := range f.conditions {
			var query []string
			for _, x := range c.filters {
				value := fmt.Sprint(x.value)
				if x.operator == equals {
					value = fmt.Sprintf("%q", x.value)
				}
				query = append(query, x.property+" "+operators[x.operator]+" "+value)
			}
			switch {
			case query == nil && c.rollout == 100:
				definition["defaultRule"] = object{"variation": "on"}
			case c.rollout == 100:
				rules = append(rules, object{"query": strings.Join(query, " and "), "variation": "on"})
			default:
				rules = append(rules, object{"query": strings.Join(query, " and "), "percentage": object{"on": c.rollout, "off": 100 - c.rollout}})
			}
		}
		if rules != nil {
			definition["targeting"] = rules
		}
		flags[f.key] = definition
	}
	return flags
}

func (e goFeatureFlagEngine) close() { e.client.Close() }

func (e goFeatureFlagEngine) subject(p person) subject {
	c := ffcontext.NewEvaluationContext(p.id)
	for name, v := range p.properties {
		c.AddCustomAttribute(name, v)
	}
	return goFeatureFlagSubject{e.client, c}
}

type goFeatureFlagSubject struct {
	client  *ffclient.GoFeatureFlag
	context ffcontext.Context
}

func (s goFeatureFlagSubject) enabled(key string) bool {
	v, err := s.client.BoolVariation(key, s.context, false)
	return err == nil && v
}

func (s goFeatureFlagSubject) variant(key string) string {
	v, err := s.client.StringVariation(key, s.context, "")
	if err != nil {
		return ""
	}
	return v
}

func (s goFeatureFlagSubject) all() int {
	state, n := s.client.AllFlagsState(s.context), 0
	for _, f := range state.GetFlags() {
		if f.Value == true {
			n++
		}
	}
	return n
}
