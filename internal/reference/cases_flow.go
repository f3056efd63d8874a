package reference

import (
	"fmt"
	"strings"
)

// flowCases returns rows 1–36, the table of §16.1: bucketing and flow.
func flowCases() []Case {
	beta := func(percentage string) string {
		return caseDocument(caseFlag("beta-feature", conditions(rollout(percentage))))
	}
	half := multivariate("control", "50", "test", "50")
	five := multivariate("first", "50", "second", "20", "third", "20", "fourth", "5", "fifth", "5")
	emailA := filterJSON("email", "exact", `"a"`)
	everyone := caseRequest("user-1")

	cases := []Case{
		{1, "in rollout", beta("50"), caseRequest("user-4"), []Want{wantOn("beta-feature", 0)}, false},
		{
			2, "out of rollout", beta("50"), caseRequest("user-1"),
			[]Want{off("beta-feature", codeOutOfRollout, 0).description("Out of rollout bound")},
			false,
		},
		{
			3, "no conditions", caseDocument(caseFlag("k", `"groups":[]`)), everyone,
			[]Want{off("k", codeNoGroup, -1).description("No group type")},
			false,
		},
		{3, "no filters", caseDocument(`{"id":1,"key":"k","active":true}`), everyone, []Want{off("k", codeNoGroup, -1)}, false},
		{4, "empty condition", caseDocument(caseFlag("k", `"groups":[{}]`)), everyone, []Want{wantOn("k", 0)}, false},
		{
			4, "nulls in a condition", caseDocument(caseFlag("k", `"groups":[{"properties":null,"rollout_percentage":null,"variant":null}]`)),
			everyone,
			[]Want{wantOn("k", 0)},
			false,
		},
		{5, "nobody", caseDocument(caseFlag("k", conditions(rollout("0")))), everyone, []Want{off("k", codeOutOfRollout, 0)}, false},
		{
			6, "empty distinct id is inside 0 %", caseDocument(caseFlag("k", conditions(rollout("0")))), caseRequest(""),
			[]Want{wantOn("k", 0)},
			false,
		},
		{
			7, "empty distinct id takes the first share", caseDocument(caseFlag("k", conditions(rollout("0"))+","+multivariate("control", "0", "test", "100"))),
			caseRequest(""),
			[]Want{wantOn("k", 0).variant("test")},
			false,
		},
		{8, "fractional percentage", beta("72.65"), caseRequest("user-1"), []Want{wantOn("beta-feature", 0)}, false},
		{8, "whole percentage", beta("72"), caseRequest("user-1"), []Want{off("beta-feature", codeOutOfRollout, 0)}, false},
		{
			10, "five variants", caseDocument(caseFlag("multivariate-flag", conditions(rollout("55"))+","+five)), caseRequest("distinct_id_0"),
			[]Want{wantOn("multivariate-flag", 0).variant("second")},
			false,
		},
		{
			11, "no variant out of rollout", caseDocument(caseFlag("multivariate-flag", conditions(rollout("55"))+","+five)),
			caseRequest("distinct_id_3"),
			[]Want{off("multivariate-flag", codeOutOfRollout, 0)},
			false,
		},
		{12, "gap in the shares", caseDocument(caseFlag("checkout", conditions(rollout("100"))+","+multivariate("x", "10", "y", "10")+
			`,"payloads":{"true":"1","x":"2","y":"3"}`)), caseRequest("user-2"), []Want{wantOn("checkout", 0).payload(`"1"`)}, false},
		{
			14, "empty variants", caseDocument(caseFlag("k", conditions(rollout("100"))+`,"multivariate":{"variants":[]}`)), everyone,
			[]Want{wantOn("k", 0)},
			false,
		},
		{
			15, "unknown pin", caseDocument(caseFlag("checkout", conditions(`{"variant":"nope"}`)+","+half)), caseRequest("user-1"),
			[]Want{wantOn("checkout", 0).variant("test")},
			false,
		},
		{
			16, "empty pin", caseDocument(caseFlag("checkout", conditions(`{"variant":""}`)+","+half)), caseRequest("user-1"),
			[]Want{wantOn("checkout", 0).variant("test")},
			false,
		},
		{
			17, "pin with share 0", caseDocument(caseFlag("k", conditions(`{"variant":"z"}`)+","+multivariate("z", "0", "w", "100"))),
			everyone,
			[]Want{wantOn("k", 0).variant("z")},
			false,
		},
		{
			18, "pins do not reorder", caseDocument(caseFlag("checkout", conditions(rollout("100"),
				`{"properties":[`+emailA+`],"variant":"test"}`)+","+half)), caseRequest("user-2", person(`{"email":"a"}`)),
			[]Want{wantOn("checkout", 0).variant("control")},
			false,
		},
		{
			19, "first of two pins", caseDocument(caseFlag("checkout", conditions(`{"variant":"test"}`, `{"variant":"control"}`)+","+half)),
			caseRequest("user-2"),
			[]Want{wantOn("checkout", 0).variant("test")},
			false,
		},
		{20, "distinct id 42, above its hash", beta("62"), caseRequest("42"), []Want{wantOn("beta-feature", 0)}, false},
		{20, "distinct id 42, below its hash", beta("61"), caseRequest("42"), []Want{off("beta-feature", codeOutOfRollout, 0)}, false},
		{21, "250 bytes are cut", beta("32"), caseRequest(strings.Repeat("x", 250)), []Want{wantOn("beta-feature", 0)}, false},
		{21, "to 200 characters", beta("31"), caseRequest(strings.Repeat("x", 250)), []Want{off("beta-feature", codeOutOfRollout, 0)}, false},
		{22, "101 characters of 2 bytes stay, above", beta("87"), caseRequest(strings.Repeat("é", 101)), []Want{wantOn("beta-feature", 0)}, false},
		{
			22, "101 characters of 2 bytes stay, below", beta("86"), caseRequest(strings.Repeat("é", 101)),
			[]Want{off("beta-feature", codeOutOfRollout, 0)},
			false,
		},
		{23, "a.b and c, above", caseDocument(caseFlag("a.b", conditions(rollout("38.4")))), caseRequest("c"), []Want{wantOn("a.b", 0)}, false},
		{23, "a and b.c, above", caseDocument(caseFlag("a", conditions(rollout("38.4")))), caseRequest("b.c"), []Want{wantOn("a", 0)}, false},
		{
			23, "a.b and c, below", caseDocument(caseFlag("a.b", conditions(rollout("38.3")))), caseRequest("c"),
			[]Want{off("a.b", codeOutOfRollout, 0)},
			false,
		},
		{
			23, "a and b.c, below", caseDocument(caseFlag("a", conditions(rollout("38.3")))), caseRequest("b.c"),
			[]Want{off("a", codeOutOfRollout, 0)},
			false,
		},
		{24, "one space is not empty", beta("0"), caseRequest(" "), []Want{off("beta-feature", codeOutOfRollout, 0)}, false},
		{24, "one space, above its hash", beta("72.9"), caseRequest(" "), []Want{wantOn("beta-feature", 0)}, false},
		{24, "one space, below its hash", beta("72.8"), caseRequest(" "), []Want{off("beta-feature", codeOutOfRollout, 0)}, false},
		{
			28, "early_exit without filters", caseDocument(caseFlag("k", conditions(rollout("0"), rollout("100"))+`,"early_exit":true`)),
			everyone,
			[]Want{off("k", codeOutOfRollout, 0)},
			false,
		},
		{
			29, "the last mismatch", caseDocument(caseFlag("k", conditions(where(emailA), where(emailA)))), everyone,
			[]Want{off("k", codeNoMatch, 1).description("No matching condition set")},
			false,
		},
		{
			30, "out of rollout beats mismatch", caseDocument(caseFlag("k", conditions(rollout("0"), where(emailA)))), everyone,
			[]Want{off("k", codeOutOfRollout, 0)},
			false,
		},
		{31, "inactive", caseDocument(`{"id":1,"key":"k","active":false,"filters":{"groups":[{}]}}`), everyone, []Want{absent("k")}, false},
		{32, "active absent", caseDocument(`{"id":1,"key":"k","filters":{"groups":[{}]}}`), everyone, []Want{absent("k")}, false},
		{
			33, "payload of the variant", caseDocument(caseFlag("checkout", conditions(rollout("100"))+","+half+`,"payloads":{"true":"1","test":"2"}`)),
			caseRequest("user-1"),
			[]Want{wantOn("checkout", 0).variant("test").payload(`"2"`)},
			false,
		},
		{
			34, "no fallback to true", caseDocument(caseFlag("checkout", conditions(rollout("100"))+","+half+`,"payloads":{"true":"1"}`)),
			caseRequest("user-1"),
			[]Want{wantOn("checkout", 0).variant("test").payload("none")},
			false,
		},
		{
			35, "raw object", caseDocument(caseFlag("k", conditions(rollout("100"))+`,"payloads":{"true":{"a":1}}`)), everyone,
			[]Want{wantOn("k", 0).payload(`"{\"a\":1}"`)},
			false,
		},
		{
			36, "no payload for false", caseDocument(caseFlag("k", conditions(rollout("0"))+`,"payloads":{"false":"1"}`)), everyone,
			[]Want{off("k", codeOutOfRollout, 0)},
			false,
		},
	}

	// Row 9: simple-flag at 45 %.
	for i, enabled := range []bool{false, true, true, false} {
		want := off("simple-flag", codeOutOfRollout, 0)
		if enabled {
			want = wantOn("simple-flag", 0)
		}
		subject := fmt.Sprintf("distinct_id_%d", i)
		document := caseDocument(caseFlag("simple-flag", conditions(rollout("45"))))
		cases = append(cases, Case{9, subject, document, caseRequest(subject), []Want{want}, false})
	}

	// Row 13: the share of r is unreachable. §2.8 has the variant hashes of
	// checkout.
	over := caseDocument(caseFlag("checkout", conditions(rollout("100"))+","+multivariate("p", "40", "q", "100", "r", "10")))
	for _, drawn := range [][2]string{{"user-1", "q"}, {"user-2", "p"}, {"user-3", "p"}, {"user-8", "q"}} {
		cases = append(cases, Case{13, drawn[0], over, caseRequest(drawn[0]), []Want{wantOn("checkout", 0).variant(drawn[1])}, false})
	}

	// Rows 25–27: early exit.
	emailX := `{"properties":[` + filterJSON("email", "icontains", `"x"`) + `],"rollout_percentage":10}`
	for _, row := range []struct {
		row       int
		email     string
		earlyExit bool
		want      Want
	}{
		{25, "x", true, off("beta-feature", codeOutOfRollout, 0)},
		{26, "y", true, wantOn("beta-feature", 1)},
		{27, "x", false, wantOn("beta-feature", 1)},
		{27, "y", false, wantOn("beta-feature", 1)},
	} {
		document := caseDocument(caseFlag("beta-feature", conditions(emailX, rollout("100"))+fmt.Sprintf(`,"early_exit":%v`, row.earlyExit)))
		request := caseRequest("user-1", person(`{"email":"`+row.email+`"}`))
		name := fmt.Sprintf("email %s, early_exit %v", row.email, row.earlyExit)
		cases = append(cases, Case{row.row, name, document, request, []Want{row.want}, false})
	}
	return cases
}
