package docs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/geoip"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// zeros has a pointer to the zero value of each type that these packages export.
// Interfaces are left out: they have no values of their own.
var zeros = map[string][]any{
	".": {
		new(flagstaff.BoolFlag), new(flagstaff.Client), new(flagstaff.Config), new(flagstaff.Evaluation), new(flagstaff.PayloadFlag[int]), new(flagstaff.Person), new(flagstaff.ValueFlag[string]), new(flagstaff.VariantFlag[string]),
		new(flagstaff.Web),
	},
	"capture": {
		new(capture.AnalyticsBatch), new(capture.AnalyticsError), new(capture.AnalyticsRequest), new(capture.Batch), new(capture.Client), new(capture.ClientConfig),
		new(capture.ClientEvent), new(capture.ClientStats), new(capture.Collector), new(capture.CollectorConfig), new(capture.Event), new(capture.EventError), new(capture.Exposure),
		new(capture.FieldError), new(capture.LostError), new(capture.Property), new(capture.Request), new(capture.RequestError), new(capture.ResponseError), new(capture.Result), new(capture.RuleExposure),
	},
	"flags": {
		new(flags.Aggregation), new(flags.RemoteResults), new(flags.Detail), new(flags.BucketTrace), new(flags.Cohort), new(flags.CohortNode), new(flags.Comparison), new(flags.CompileOptions),
		new(flags.Condition), new(flags.ConditionTrace), new(flags.DefinitionError), new(flags.Definitions), new(flags.DependencyTrace), new(flags.Evaluator),
		new(flags.Filter), new(flags.FilterTrace), new(flags.Filters), new(flags.Flag), new(flags.FlagReference), new(flags.GroupProperty), new(flags.Holdout), new(flags.Property),
		new(flags.Index), new(flags.Input), new(flags.Loaded), new(flags.UnknownKey), new(flags.UnknownKeys), new(flags.Memory), new(flags.Metadata), new(flags.Multivariate), new(flags.Needs), new(flags.Outcome), new(flags.Place),
		new(flags.Problem), new(flags.Reason), new(flags.Ref), new(flags.Rendering), new(flags.Request), new(flags.Result), new(flags.Results), new(flags.Rule), new(flags.RuleFault), new(flags.RuleHoldout), new(flags.RuleResult), new(flags.RuleSet), new(flags.RuleSplit), new(flags.RuleVariant), new(flags.Severity), new(flags.Snapshot), new(flags.StoredNeeds),
		new(flags.Tally), new(flags.TallyCount), new(flags.Trace), new(flags.TypedValue), new(flags.Variant), new(flags.VariantShare), new(flags.VariantTrace),
	},
	"flags/flagstest": {new(flagstest.Builder)},
	"flags/subject":   {new(subject.Failure), new(subject.Filler), new(subject.Request)},
	"flags/wire": {
		new(wire.DefinitionsOptions), new(wire.Envelope), new(wire.FieldError), new(wire.Form), new(wire.Query), new(wire.QueryError), new(wire.Request),
	},
	"geoip":   {new(geoip.Location), new(geoip.Options), new(geoip.Resolver), new(geoip.Status)},
	"runtime": {new(runtime.Detector), new(runtime.Filter), new(runtime.Kind), new(runtime.Requirement), new(runtime.Signals), new(runtime.TagMatch)},
}

// interfaces are the types that zeros leaves out.
var interfaces = []string{"..Handle", "capture.Sink", "flags.Matcher", "flags/subject.Locator", "flags/subject.Store", "runtime.Header"}

// functions has each function that these packages export, but for flagstest, whose
// functions fail a test.
var functions = map[string]any{
	"..From": flagstaff.From, "..Handles": flagstaff.Handles, "..NewBool": flagstaff.NewBool, "..NewPayload": flagstaff.NewPayload[int], "..NewValue": flagstaff.NewValue[string], "..NewVariant": flagstaff.NewVariant[string],
	"..Open": flagstaff.Open, "..Override": flagstaff.Override, "..Payload": flagstaff.Payload[int],
	"capture.ExposureOf": capture.ExposureOf, "capture.Faults": capture.Faults, "capture.FlagProperties": capture.FlagProperties, "capture.IllegalID": capture.IllegalID, "capture.NewClient": capture.NewClient,
	"capture.NewCollector": capture.NewCollector, "capture.NewUUID": capture.NewUUID, "capture.ParseUUID": capture.ParseUUID, "capture.SentAt": capture.SentAt,
	"flags.Bucket": flags.Bucket, "flags.ByGroup": flags.ByGroup, "flags.ByKey": flags.ByKey, "flags.Compile": flags.Compile,
	"flags.Declare": flags.Declare, "flags.Decode": flags.Decode, "flags.DecodeCohort": flags.DecodeCohort, "flags.DecodeFilters": flags.DecodeFilters, "flags.DecodeRuleSet": flags.DecodeRuleSet, "flags.NewIndex": flags.NewIndex, "flags.NewTally": flags.NewTally,
	"flags.AnyProperty": flags.AnyProperty, "flags.BoolProperty": flags.BoolProperty, "flags.FloatProperty": flags.FloatProperty[float32], "flags.IntProperty": flags.IntProperty[int], "flags.StringProperty": flags.StringProperty, "flags.TimeProperty": flags.TimeProperty,
	"flags/wire.AppendDefinitions": wire.AppendDefinitions, "flags/wire.AppendDetailed": wire.AppendDetailed, "flags/wire.AppendEmpty": wire.AppendEmpty,
	"flags/wire.AppendEvaluation": wire.AppendEvaluation, "flags/wire.AppendEvaluations": wire.AppendEvaluations, "flags/wire.AppendFailure": wire.AppendFailure,
	"flags/wire.AppendLegacy": wire.AppendLegacy, "flags/wire.AppendResponse": wire.AppendResponse, "flags/wire.DecideForm": wire.DecideForm,
	"flags/wire.DefinitionsETag": wire.DefinitionsETag, "flags/wire.FlagsForm": wire.FlagsForm,
	"geoip.Open":        geoip.Open,
	"runtime.ParseKind": runtime.ParseKind, "runtime.ParseRequirement": runtime.ParseRequirement, "runtime.ParseTagMatch": runtime.ParseTagMatch, "runtime.SignalsOf": runtime.SignalsOf,
}

// answering are the types whose nil pointers answer; other methods of nil pointers
// panic, as the documentation of each package says.
var answering = []string{
	"..Client", "..Person", "capture.Client", "capture.Collector", "flags.DefinitionError", "flags.Evaluator", "flags.Index", "flags.Results", "flags.Snapshot", "flags.Tally", "geoip.Resolver",
}

// panics are the calls whose own documentation says that they panic.
var panics = []string{
	"flags.Evaluator.Swap of nil", "flags.Input.", "flags/flagstest.Builder.Change of the zero value", "flags/subject.Request.",
	"flags/wire.AppendEvaluation", "flags/wire.AppendEvaluations",
}

// waits are the calls that last until their context ends, as they should.
var waits = []string{"geoip.Resolver.Watch of nil"}

// mayPanic reports whether the documentation of a call says that it panics.
func mayPanic(name string) bool {
	of, isNil := strings.CutSuffix(name, " of nil")
	if of = of[:strings.LastIndexByte(of, '.')]; isNil && !slices.Contains(answering, of) {
		return true
	}
	return slices.ContainsFunc(panics, func(p string) bool { return name == p || strings.HasSuffix(p, ".") && strings.HasPrefix(name, p) })
}

// TestRuling76Lists: the lists above have all that the packages export.
func TestRuling76Lists(t *testing.T) {
	types, funcs := slices.Clone(interfaces), []string{}
	for folder, values := range zeros {
		for _, v := range values {
			name, _, _ := strings.Cut(reflect.TypeOf(v).Elem().Name(), "[")
			types = append(types, folder+"."+name)
		}
	}
	for name := range functions {
		funcs = append(funcs, name)
	}
	var wantTypes, wantFuncs []string
	for line := range strings.Lines(read(t, filepath.Join("testdata", "golden", "flagstaff.txt"))) {
		words := strings.Fields(line)
		switch {
		case len(words) != 3 || zeros[words[0]] == nil || strings.Contains(words[2], "."):
		case words[1] == "type":
			wantTypes = append(wantTypes, words[0]+"."+words[2])
		case words[1] == "func" && words[0] != "flags/flagstest":
			wantFuncs = append(wantFuncs, words[0]+"."+words[2])
		}
	}
	for _, list := range []struct{ want, got []string }{{wantTypes, types}, {wantFuncs, funcs}} {
		slices.Sort(list.got)
		slices.Sort(list.want)
		if diff := cmp.Diff(list.want, list.got); diff != "" {
			t.Errorf("what is tested (-want +got):\n%s", diff)
		}
	}
}

// TestRuling76Misuse: what nobody has set up answers, and neither hangs nor panics
// unless that is documented.
func TestRuling76Misuse(t *testing.T) {
	for folder, values := range zeros {
		for _, v := range values {
			of := reflect.TypeOf(v)
			for m := range of.NumMethod() {
				name := folder + "." + of.Elem().Name() + "." + of.Method(m).Name
				misuse(t, name+" of the zero value", reflect.New(of.Elem()).Method(m))
				if _, byValue := of.Elem().MethodByName(of.Method(m).Name); !byValue {
					misuse(t, name+" of nil", reflect.Zero(of).Method(m))
				}
			}
		}
	}
	for name, f := range functions {
		misuse(t, name, reflect.ValueOf(f))
	}
}

// misuse calls a function with zero values only.
func misuse(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if slices.Contains(waits, name) {
		cancel()
	}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		var in []reflect.Value
		for of := range f.Type().Ins() {
			v := reflect.Zero(of)
			if v.Type() == reflect.TypeFor[context.Context]() {
				v = reflect.ValueOf(ctx) // a nil context is not a misuse of this library
			}
			in = append(in, v)
		}
		if f.Type().IsVariadic() {
			in = in[:len(in)-1]
		}
		for _, out := range f.Call(in) {
			if err, ok := out.Interface().(error); ok && err != nil {
				_ = err.Error()
			}
			if out.Kind() == reflect.Func && !out.IsNil() && out.Type().CanSeq() {
				for range out.Seq() {
				}
			}
			if out.Kind() == reflect.Func && !out.IsNil() && out.Type().CanSeq2() {
				for range out.Seq2() {
				}
			}
			_ = fmt.Sprint(out.Interface())
		}
	}()
	select {
	case r := <-done:
		if r != nil && !mayPanic(name) {
			t.Errorf("%s panics: %v", name, r)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("%s hangs", name)
	}
}
