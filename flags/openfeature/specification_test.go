package openfeature_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
)

// TestSpecification evaluates through a client everything that OpenFeature's
// specification requires of a provider: values of all types, including empty
// ones, for everyone and by targeting, and the life of the provider in between.
// Values that cannot be keys of variants come from remote configuration. If no
// condition matches, the value is the caller's default, because flags have no
// default of their own.
func TestSpecification(t *testing.T) {
	const targeted = `"groups":[{"properties":[{"key":"email","type":"person","operator":"exact","value":"ada@acme.example"}]}]`
	e := new(flags.Evaluator)
	e.Swap(compile(t, `{"flags":[
		{"id":1,"key":"boolean","active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"string","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"\"text\""}}},
		{"id":3,"key":"integer","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"7"}}},
		{"id":4,"key":"float","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"1.25"}}},
		{"id":5,"key":"object","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"{\"list\":[true,null],\"size\":20}"}}},
		{"id":6,"key":"boolean-empty","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"false"}}},
		{"id":7,"key":"string-empty","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"\"\""}}},
		{"id":8,"key":"number-empty","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"0"}}},
		{"id":9,"key":"object-empty","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"{}"}}},
		{"id":10,"key":"boolean-targeted","active":true,"filters":{`+targeted+`}},
		{"id":11,"key":"string-targeted","active":true,"is_remote_configuration":true,"filters":{`+targeted+`,"payloads":{"true":"\"\""}}},
		{"id":12,"key":"number-targeted","active":true,"is_remote_configuration":true,"filters":{`+targeted+`,"payloads":{"true":"0"}}},
		{"id":13,"key":"object-targeted","active":true,"is_remote_configuration":true,"filters":{`+targeted+`,"payloads":{"true":"[]"}}},
		{"id":14,"key":"variant","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"blue","rollout_percentage":100}]}}}
	]}`))
	c := clientOf(t, openfeature.NewProvider(e, openfeature.Options{DefaultID: "anybody"}))
	ada := of.NewEvaluationContext("ada", map[string]any{"email": "ada@acme.example"})
	bob := of.NewEvaluationContext("bob", map[string]any{"email": "bob@acme.example"})
	nobody := of.NewEvaluationContext("", map[string]any{"email": nil})
	for _, tt := range []struct {
		name, kind, key string
		context         of.EvaluationContext
		want            any // nil means the default
		reason          of.Reason
		code            of.ErrorCode
	}{
		{"value without context", "bool", "boolean", of.EvaluationContext{}, true, of.StaticReason, ""},
		{"value without context", "string", "string", of.EvaluationContext{}, "text", of.StaticReason, ""},
		{"value without context", "int", "integer", of.EvaluationContext{}, int64(7), of.StaticReason, ""},
		{"value without context", "float", "float", of.EvaluationContext{}, 1.25, of.StaticReason, ""},
		{"value without context", "object", "object", of.EvaluationContext{}, map[string]any{"list": []any{true, nil}, "size": 20.0}, of.StaticReason, ""},

		{"empty value is not a default", "bool", "boolean-empty", ada, false, of.StaticReason, ""},
		{"empty value is not a default", "string", "string-empty", ada, "", of.StaticReason, ""},
		{"empty value is not a default", "int", "number-empty", ada, int64(0), of.StaticReason, ""},
		{"empty value is not a default", "float", "number-empty", ada, 0.0, of.StaticReason, ""},
		{"empty value is not a default", "object", "object-empty", ada, map[string]any{}, of.StaticReason, ""},

		{"targeting matches", "bool", "boolean-targeted", ada, true, of.TargetingMatchReason, ""},
		{"targeting matches", "string", "string-targeted", ada, "", of.TargetingMatchReason, ""},
		{"targeting matches", "int", "number-targeted", ada, int64(0), of.TargetingMatchReason, ""},
		{"targeting matches", "float", "number-targeted", ada, 0.0, of.TargetingMatchReason, ""},
		{"targeting matches", "object", "object-targeted", ada, []any{}, of.TargetingMatchReason, ""},

		{"targeting does not match", "bool", "boolean-targeted", bob, false, of.DefaultReason, ""},
		{"targeting does not match", "string", "string-targeted", bob, nil, of.DefaultReason, ""},
		{"targeting does not match", "int", "number-targeted", bob, nil, of.DefaultReason, ""},
		{"targeting does not match", "float", "number-targeted", bob, nil, of.DefaultReason, ""},
		{"targeting does not match", "object", "object-targeted", bob, nil, of.DefaultReason, ""},
		{"attribute that is null", "bool", "boolean-targeted", nobody, false, of.DefaultReason, ""},
		{"attribute that is null", "string", "string-targeted", nobody, nil, of.DefaultReason, ""},

		{"no such flag", "bool", "absent", ada, nil, of.ErrorReason, of.FlagNotFoundCode},
		{"no such flag", "string", "absent", ada, nil, of.ErrorReason, of.FlagNotFoundCode},
		{"no such flag", "int", "absent", ada, nil, of.ErrorReason, of.FlagNotFoundCode},
		{"no such flag", "float", "absent", ada, nil, of.ErrorReason, of.FlagNotFoundCode},
		{"no such flag", "object", "absent", ada, nil, of.ErrorReason, of.FlagNotFoundCode},
		{"wrong type", "string", "boolean", ada, nil, of.ErrorReason, of.TypeMismatchCode},
		{"wrong type", "int", "string", ada, nil, of.ErrorReason, of.TypeMismatchCode},
		{"wrong type", "float", "string", ada, nil, of.ErrorReason, of.TypeMismatchCode},
		{"wrong type", "object", "string", ada, nil, of.ErrorReason, of.TypeMismatchCode},
	} {
		if tt.want == nil {
			tt.want = fallbacks[tt.kind]
		}
		got, d := resolve(t, c, tt.kind, tt.key, tt.context)
		if diff := cmp.Diff(tt.want, got); diff != "" || d.Reason != tt.reason || d.ErrorCode != tt.code {
			t.Errorf("%s: %s %s = %v, %+v; want %+v", tt.name, tt.kind, tt.key, got, d, tt)
		}
	}
	d, err := c.StringValueDetails(t.Context(), "variant", "", ada)
	if err != nil || d.FlagKey != "variant" || d.FlagType != of.String || d.Variant != "blue" || d.Value != "blue" {
		t.Errorf("details %+v, %v", d, err)
	}
}

// TestSpecificationNotReady checks that every value is the default as long as
// there are no definitions.
func TestSpecificationNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		if err := s.SetProvider(t.Context(), openfeature.NewProvider(nil, openfeature.Options{Source: &fakeSource{hang: true}})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for kind, want := range fallbacks {
			got, d := resolve(t, s.NewClient(), kind, "boolean", of.NewEvaluationContext("ada", nil))
			if got != want || d.Reason != of.ErrorReason || d.ErrorCode != of.ProviderNotReadyCode {
				t.Errorf("%s = %v, %+v", kind, got, d)
			}
		}
		_, err := s.NewClient().BooleanValue(t.Context(), "boolean", true, of.EvaluationContext{})
		if !errors.Is(err, of.ProviderNotReadyError) {
			t.Errorf("error %v", err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
