package reference

import "encoding/json"

// subjectCases returns rows 37–61, the table of §16.2: enrolment, holdout,
// device and continuity.
func subjectCases() []Case {
	enrol := func(more string) string {
		return caseDocument(caseFlag("k", `"feature_enrollment":true,`+more))
	}
	enrolment := func(value string) *Request {
		return caseRequest("user-1", person(`{"$feature_enrollment/k":`+value+`}`))
	}
	enrolled := Want{Key: "k", Enabled: true, Code: codeEnrolment, Index: 0, Description: "Super condition value"}
	optedOut := Want{Key: "k", Code: codeEnrolment, Index: 0, Description: "Super condition value"}
	half := multivariate("control", "50", "test", "50")

	const holdout42 = `"holdout":{"id":42,"exclusion_percentage":20}`
	heldOut := func(key, variant string) Want {
		return Want{Key: key, Enabled: true, Variant: variant, Code: codeHoldout, Index: -1, Description: "Holdout condition value"}
	}

	device := func(key, filters string) string {
		return caseDocument(withMember(caseFlag(key, filters), `"bucketing_identifier":"device_id"`))
	}
	withDevice := func(r *Request) { r.DeviceID = "device-0001" }

	continuity := caseDocument(withMember(caseFlag("beta-feature", conditions(rollout("70"))), `"ensure_experience_continuity":true`))
	withAnonymous := func(r *Request) { r.AnonymousID = "anon-1" }
	withOverride := func(r *Request) { r.Overrides = map[string]string{"beta-feature": "anon-1"} }

	const companies = `"group_type_mapping":{"0":"company"}`
	return []Case{
		{37, "enrolled", enrol(conditions(rollout("0"))), enrolment("true"), []Want{enrolled}, false},
		{
			38, "opted out, payload stays", enrol(conditions(rollout("100")) + `,"payloads":{"true":"1"}`), enrolment(`"false"`),
			[]Want{optedOut.payload(`"1"`)},
			false,
		},
		{39, "not decided, in rollout", enrol(conditions(rollout("100"))), caseRequest("user-1"), []Want{wantOn("k", 0)}, false},
		{39, "not decided, out of rollout", enrol(conditions(rollout("0"))), caseRequest("user-1"), []Want{off("k", codeOutOfRollout, 0)}, false},
		{
			40, "no variant", enrol(conditions(rollout("100")) + "," + half + `,"payloads":{"true":"1","test":"2","control":"3"}`), enrolment(`"true"`),
			[]Want{enrolled.payload(`"1"`)},
			false,
		},
		{
			41, "enrolment before holdout", enrol(conditions(rollout("100")) + `,"holdout":{"id":42,"exclusion_percentage":100}`),
			enrolment("true"),
			[]Want{enrolled},
			false,
		},
		{42, "null is present", enrol(conditions(rollout("100"))), enrolment("null"), []Want{optedOut}, false},
		{
			43, "held out", caseDocument(caseFlag("k", conditions(rollout("100"))+","+half+","+holdout42+`,"payloads":{"holdout-42":"9","true":"1"}`)),
			caseRequest("user-1"),
			[]Want{heldOut("k", "holdout-42").payload(`"9"`)},
			false,
		},
		{
			44, "not held out", caseDocument(caseFlag("checkout", conditions(rollout("100"))+","+half+","+holdout42)), caseRequest("user-2"),
			[]Want{wantOn("checkout", 0).variant("control")},
			false,
		},
		{
			45, "held out without conditions", caseDocument(caseFlag("k", `"groups":[],"holdout":{"id":42,"exclusion_percentage":100}`)),
			caseRequest("anyone"),
			[]Want{heldOut("k", "holdout-42").payload("none")},
			false,
		},
		{
			46, "the id is not hashed", caseDocument(
				caseFlagID(1, "k", conditions(rollout("100"))+`,"holdout":{"id":42,"exclusion_percentage":10}`),
				caseFlagID(2, "l", conditions(rollout("100"))+`,"holdout":{"id":43,"exclusion_percentage":10}`)),
			caseRequest("user-7"),
			[]Want{heldOut("k", "holdout-42"), heldOut("l", "holdout-43")},
			false,
		},
		{
			47, "group flag without group", withMember(caseDocument(caseFlag("k", `"aggregation_group_type_index":0,`+conditions(rollout("100"))+","+holdout42)), companies),
			caseRequest("user-1"),
			[]Want{off("k", codeNoGroup, 0)},
			false,
		},
		{47, "group flag without group, 92.7 %", withMember(caseDocument(caseFlag("k", `"aggregation_group_type_index":0,`+conditions(rollout("100"))+
			`,"holdout":{"id":42,"exclusion_percentage":92.7}`)), companies), caseRequest("user-1"), []Want{heldOut("k", "holdout-42")}, false},
		{
			48, "holdout_groups are converted", caseDocument(caseFlag("k", conditions(rollout("100"))+
				`,"holdout_groups":[{"properties":[],"rollout_percentage":20,"variant":"holdout-42"}]`)), caseRequest("user-1"),
			[]Want{heldOut("k", "holdout-42")},
			false,
		},
		{49, "no device, 50 %", device("k", conditions(rollout("50"))), caseRequest("user-4"), []Want{off("k", codeOutOfRollout, 0)}, false},
		{50, "no device, 100 %", device("k", conditions(rollout("100"))), caseRequest("user-1"), []Want{wantOn("k", 0)}, false},
		{
			51, "no device, variants", device("k", conditions(rollout("100"))+","+half), caseRequest("user-1"),
			[]Want{off("k", codeOutOfRollout, 0)},
			false,
		},
		{
			52, "no device, pinned", device("k", conditions(`{"variant":"test"}`)+","+half), caseRequest("user-1"),
			[]Want{wantOn("k", 0).variant("test")},
			false,
		},
		{
			53, "no device does not exit early", device("k", conditions(rollout("50"), rollout("100"))+`,"early_exit":true`), caseRequest("user-1"),
			[]Want{wantOn("k", 1)},
			false,
		},
		{54, "device, above its hash", device("device-flag", conditions(rollout("60"))), caseRequest("user-1", withDevice), []Want{wantOn("device-flag", 0)}, false},
		{
			54, "device, below its hash", device("device-flag", conditions(rollout("56"))), caseRequest("user-1", withDevice),
			[]Want{off("device-flag", codeOutOfRollout, 0)},
			false,
		},
		{
			55, "device property, above its hash", device("device-flag", conditions(rollout("57"))),
			caseRequest("user-1", person(`{"$device_id":"device-0001"}`)),
			[]Want{wantOn("device-flag", 0)},
			false,
		},
		{
			55, "device property, below its hash", device("device-flag", conditions(rollout("56"))),
			caseRequest("user-1", person(`{"$device_id":"device-0001"}`)),
			[]Want{off("device-flag", codeOutOfRollout, 0)},
			false,
		},
		{
			56, "unknown identifier", caseDocument(withMember(caseFlag("beta-feature", conditions(rollout("50"))), `"bucketing_identifier":"session"`)),
			caseRequest("user-4", withDevice),
			[]Want{wantOn("beta-feature", 0)},
			false,
		},
		{57, "anonymous id", continuity, caseRequest("user-1", withAnonymous), []Want{wantOn("beta-feature", 0)}, false},
		{57, "anonymous id as property", continuity, caseRequest("user-1", person(`{"$anon_distinct_id":"anon-1"}`)), []Want{wantOn("beta-feature", 0)}, false},
		{58, "stored row", continuity, caseRequest("user-1", withOverride), []Want{wantOn("beta-feature", 0)}, false},
		{
			58, "stored row beats the anonymous id", continuity, caseRequest("user-1", withOverride, func(r *Request) { r.AnonymousID = "anon-2" }),
			[]Want{wantOn("beta-feature", 0)},
			false,
		},
		{59, "no row, no anonymous id", continuity, caseRequest("user-1"), []Want{off("beta-feature", codeOutOfRollout, 0)}, false},
		{
			60, "device beats continuity", caseDocument(withMember(caseFlag("device-flag", conditions(rollout("50"))),
				`"bucketing_identifier":"device_id","ensure_experience_continuity":true`)), caseRequest("user-1", withDevice, withAnonymous),
			[]Want{off("device-flag", codeOutOfRollout, 0)},
			false,
		},
		{
			60, "device beats continuity, above its hash", caseDocument(withMember(caseFlag("device-flag", conditions(rollout("60"))),
				`"bucketing_identifier":"device_id","ensure_experience_continuity":true`)),
			caseRequest("user-1", withDevice, func(r *Request) { r.Overrides = map[string]string{"device-flag": "x"} }),
			[]Want{wantOn("device-flag", 0)},
			false,
		},
		{
			61, "group beats continuity", withMember(caseDocument(withMember(caseFlag("group-flag", `"aggregation_group_type_index":0,`+conditions(rollout("10"))),
				`"ensure_experience_continuity":true`)), companies), caseRequest("user-1", withAnonymous, group("company", `"acme"`)),
			[]Want{wantOn("group-flag", 0)},
			false,
		},
		{61, "group beats a stored row", withMember(caseDocument(withMember(caseFlag("group-flag", `"aggregation_group_type_index":0,`+conditions(rollout("6"))),
			`"ensure_experience_continuity":true`)), companies), caseRequest("user-1", group("company", `"acme"`), func(r *Request) {
			r.Overrides = map[string]string{"group-flag": "12"}
			r.Person = json.RawMessage(`{"$anon_distinct_id":"12"}`)
		}), []Want{off("group-flag", codeOutOfRollout, 0)}, false},
	}
}
