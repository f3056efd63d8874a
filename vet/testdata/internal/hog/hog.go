// Package hog asks for flags by posthog-go.
package hog

import "github.com/posthog/posthog-go"

type client interface{ posthog.Client }

// Ask asks by literals and variables.
func Ask(c posthog.Client, mine client, id string) {
	_, _ = c.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "new-chekout", DistinctId: id}) // want `there is no flag "new-chekout"; did you mean "new-checkout"\? \[unknown-key\]`
	_, _ = mine.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "button", DistinctId: id})
	payload := posthog.FeatureFlagPayload{Key: "buttn", DistinctId: id} // want `there is no flag "buttn"; did you mean "button"`
	v, err := c.GetFeatureFlag(payload)
	if err == nil && v == "green" {
		return
	}
	w, _ := c.GetFeatureFlag(posthog.FeatureFlagPayload{Key: "button", DistinctId: id})
	if w == "gren" { // want `flag "button" has no variant "gren"`
		return
	}
	if w, ok := w.(string); ok && w == "green" {
		return
	}
	switch w { // want `the switch has no case for the variant "blue" of flag "button", and no default`
	case "control", "green", false:
	}
	other := posthog.FeatureFlagPayload{Key: "nothing", DistinctId: id}
	other.Key = id
	_, _ = c.GetFeatureFlag(other)
	_, _ = c.GetFeatureFlagPayload(posthog.FeatureFlagPayload{Key: "new-checkout", DistinctId: id}) // want `flag "new-checkout" has no payload \[wrong-type\]`
	_, _ = c.GetRemoteConfigPayload("limit")
	_, _ = c.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "company", DistinctId: id}) // want `flag "company" looks at the group company, which the request does not have \[missing-context\]`
	_, _ = c.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "company", DistinctId: id, Groups: posthog.NewGroups().Set("company", "acme")})
	_, _ = c.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "pro", DistinctId: id})
	_, _ = c.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "pro", DistinctId: id, OnlyEvaluateLocally: true}) // want `flag "pro" looks at the property plan`
	_, _ = c.IsFeatureEnabled(posthog.FeatureFlagPayload{
		Key: "pro", DistinctId: id, OnlyEvaluateLocally: true,
		PersonProperties: posthog.NewProperties().Set("plan", "pro"),
	})
	all, err := c.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: id})
	if err == nil && all.IsEnabled("new-chekout") { // want `there is no flag "new-chekout"`
		return
	}
	all.IsEnabled("button")
	_, _ = c.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: id, FlagKeys: []string{"button", "buttn"}}) // want `there is no flag "buttn"; did you mean "button"`
}
