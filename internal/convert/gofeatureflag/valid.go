package gofeatureflag

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
)

// invalid returns why the product does not load a flag, "" if it does.
func (d *definition) invalid() string {
	if d.Variations == nil || len(*d.Variations) == 0 {
		return "it has no variations"
	}
	kind := ""
	for _, name := range slices.Sorted(maps.Keys(*d.Variations)) {
		k := kindOf((*d.Variations)[name])
		switch {
		case k == "null":
			return fmt.Sprintf("the variation %q is null", name)
		case kind == "":
			kind = k
		case kind != k:
			return "its variations have different types"
		}
	}
	if d.DefaultRule == nil {
		return "it has no defaultRule"
	}
	if reason := d.DefaultRule.invalid(true, *d.Variations); reason != "" {
		return "of its defaultRule " + reason
	}
	names := make(map[string]bool)
	for i := range d.Targeting {
		r := &d.Targeting[i]
		if reason := r.invalid(false, *d.Variations); reason != "" {
			return fmt.Sprintf("of rule %s %s", r.title(i), reason)
		}
		name := nameOf(r)
		if name != "" && names[name] {
			return fmt.Sprintf("two rules have the name %q", name)
		}
		names[name] = true
	}
	return ""
}

// title is what a rule is called in words for people.
func (r *rule) title(i int) string {
	if name := nameOf(r); name != "" {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprint(i + 1)
}

func kindOf(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil || v == nil {
		return "null"
	}
	return fmt.Sprintf("%T", v)
}

func (r *rule) invalid(isDefault bool, variations map[string]json.RawMessage) string {
	has := func(name string) bool { _, ok := variations[name]; return ok }
	if !isDefault && r.Disable != nil && *r.Disable {
		return ""
	}
	if r.Percentage == nil && r.Progressive == nil && r.Variation == nil {
		return "there is no variation"
	}
	if !isDefault {
		if reason := r.invalidQuery(); reason != "" {
			return reason
		}
	}
	if r.Percentage != nil {
		sum := 0.0
		for _, name := range slices.Sorted(maps.Keys(*r.Percentage)) {
			if !has(name) {
				return fmt.Sprintf("the variation %q of percentage does not exist", name)
			}
			sum += (*r.Percentage)[name]
		}
		if sum == 0 {
			return "percentage has no share"
		}
	}
	if p := r.Progressive; p != nil {
		switch from, to := p.Initial.share(), p.End.share(); {
		case to < from:
			return "the percentage of progressiveRollout falls"
		case !has(p.End.variation()):
			return "the last variation of progressiveRollout does not exist"
		case !has(p.Initial.variation()):
			return "the first variation of progressiveRollout does not exist"
		}
	}
	if r.Percentage == nil && r.Progressive == nil && !has(*r.Variation) {
		return fmt.Sprintf("the variation %q does not exist", *r.Variation)
	}
	return ""
}

func (p *progress) share() float64 {
	if p == nil || p.Percentage == nil {
		return 0
	}
	return *p.Percentage
}

func (p *progress) variation() string {
	if p == nil || p.Variation == nil {
		return ""
	}
	return *p.Variation
}

// invalidQuery tries a query with a user who has no attributes, as the product does. A query that
// does not follow the grammar may pass there: that is told when it is converted.
func (r *rule) invalidQuery() string {
	if r.Query == nil {
		return "there is no query"
	}
	query := trim(*r.Query)
	if isObject(query) {
		if rule, err := jsonlogic.Read([]byte(*r.Query)); err != nil || !validLogic(rule) {
			return "the query has an operator that JSONLogic does not have"
		}
		return ""
	}
	if query == "" { // the product repairs nothing here, and finds no rule in it
		return "the query is empty"
	}
	if n, _, err := parse(query); err == nil && n.failsForNobody() {
		return "the query compares with an operator that is not one for the type of the value"
	}
	return ""
}

// trim joins the lines of a query, without the spaces that they begin with.
func trim(query string) string {
	lines := strings.Split(query, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " ")
	}
	return strings.Join(lines, "")
}

// isObject reports whether a query is one in JSONLogic.
func isObject(query string) bool {
	var m map[string]any
	return json.Unmarshal([]byte(query), &m) == nil
}

// validLogic reports whether the product takes a rule for JSONLogic.
func validLogic(rule any) bool {
	switch rule := rule.(type) {
	case map[string]any:
		if name, ok := rule["var"]; ok && name != false && name != true {
			switch name.(type) {
			case string, float64, nil:
				return true
			}
		}
		if len(rule) > 1 {
			return true
		}
		for name, arguments := range rule {
			return jsonlogic.Known(name) && validLogic(arguments)
		}
	case []any:
		for _, e := range rule {
			switch e.(type) {
			case []any, map[string]any:
				if !validLogic(e) {
					return false
				}
			}
		}
		return true
	}
	switch rule.(type) {
	case bool, string, float64:
		return true
	}
	return false
}
