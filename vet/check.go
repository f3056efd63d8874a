package vet

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/nearest"
	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// A problem is what a rule has found.
type problem struct {
	rule     Rule
	key      string
	pos, end token.Pos
	message  string
	fixes    []analysis.SuggestedFix
}

// A checker finds the problems of one package.
type checker struct {
	definitions *Definitions
	now         time.Time

	files []*ast.File
	info  *types.Info
	found *uses.Package

	calls    map[*ast.CallExpr]int // uses, by their calls
	problems []problem
}

// check returns the problems of the package, in no order.
func (c *checker) check() []problem {
	c.calls = make(map[*ast.CallExpr]int, len(c.found.Uses))
	for i := range c.found.Uses {
		c.calls[c.found.Uses[i].Call] = i
	}
	for i := range c.found.Declarations {
		c.checkDeclaration(&c.found.Declarations[i])
	}
	for i := range c.found.Uses {
		c.checkUse(&c.found.Uses[i])
	}
	named := make(map[ast.Expr]bool) // several requests may have the same list
	keys := c.found.Keys
	for i := range c.found.Uses {
		keys = append(keys, c.found.Uses[i].Keys...)
	}
	for _, k := range keys {
		if !named[k.Expr] {
			c.flag(k.Key, k.Expr)
		}
		named[k.Expr] = true
	}
	for _, file := range c.files {
		for n := range ast.Preorder(file) {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					c.checkComparison(n.X, n.Y)
					c.checkComparison(n.Y, n.X)
				}
			case *ast.SwitchStmt:
				c.checkSwitch(n)
			}
		}
	}
	return c.problems
}

func (c *checker) report(rule Rule, key string, at ast.Node, format string, args ...any) {
	c.problems = append(c.problems, problem{rule: rule, key: key, pos: at.Pos(), end: at.End(), message: fmt.Sprintf(format, args...)})
}

// fix adds a fix to the latest problem: a literal of a string becomes another one.
func (c *checker) fix(e ast.Expr, text string) {
	lit, ok := ast.Unparen(e).(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	p := &c.problems[len(c.problems)-1]
	p.fixes = append(p.fixes, analysis.SuggestedFix{
		Message:   "Replace by " + strconv.Quote(text),
		TextEdits: []analysis.TextEdit{{Pos: lit.Pos(), End: lit.End(), NewText: []byte(strconv.Quote(text))}},
	})
}

// flag returns the flag of a key. It reports a key that no flag has.
func (c *checker) flag(key string, e ast.Expr) *flagFacts {
	if key == "" || e == nil {
		return nil
	}
	if f := c.definitions.flags[key]; f != nil {
		return f
	}
	near := nearest.Names(c.definitions.keys, key)
	switch len(near) {
	case 0:
		c.report(UnknownKey, key, e, "there is no flag %q", key)
	case 1:
		c.report(UnknownKey, key, e, "there is no flag %q; did you mean %q?", key, near[0])
		c.fix(e, near[0])
	default:
		c.report(UnknownKey, key, e, "there is no flag %q; did you mean %s?", key, quoted(near, " or "))
	}
	return nil
}

// checkDeclaration checks a handle by itself.
func (c *checker) checkDeclaration(d *uses.Declaration) {
	f := c.flag(d.Key, d.KeyExpr)
	if f == nil || f.broken || d.Ref {
		return
	}
	if d.Variants == nil {
		if c.checkType(f, d.Call, d.Kind, uses.Flagstaff, "the handle") && d.Typed != nil {
			c.checkPayload(f, d.Call, d.Typed)
		}
		return
	}
	if f.returns != "" {
		c.checkValues(f, d)
		return
	}
	if len(f.variants) == 0 {
		if slices.ContainsFunc(d.Variants, func(v string) bool { return !isSwitch(v) }) {
			c.report(WrongType, f.key, d.Call, "flag %q has no variants: declare it by NewBool", f.key)
		}
		return
	}
	// Variants are the arguments after the key.
	for i, v := range d.Variants {
		if !f.hasVariant(v) {
			c.unknownVariant(f, d.Call.Args[i+1], v, "")
		}
	}
	if missing := f.without(d.Variants); len(missing) > 0 {
		c.report(MissingVariant, f.key, d.Call, "flag %q has %s, which the handle does not declare: in its place it has the fallback", f.key, variants(missing))
	}
}

// checkValues checks a handle of NewVariant for a flag with a rule set. Its fallback may be
// anything.
func (c *checker) checkValues(f *flagFacts, d *uses.Declaration) {
	if !c.checkType(f, d.Call, uses.String, uses.Flagstaff, "the handle") {
		return
	}
	if missing := f.without(d.Variants); len(missing) > 0 {
		c.report(MissingVariant, f.key, d.Call, "flag %q has the values %s, which the handle does not declare: in their place it has the fallback", f.key, quoted(missing, ", "))
	}
}

// checkUse checks an expression that asks for a flag.
func (c *checker) checkUse(u *uses.Use) {
	var f *flagFacts
	at := ast.Node(u.Call)
	if u.KeyExpr == nil || len(u.Keys) > 0 {
		f = c.definitions.flags[u.Key] // an unknown key is told where it is written
	} else {
		if f = c.flag(u.Key, u.KeyExpr); u.KeyExpr != nil {
			at = u.KeyExpr
		}
	}
	if f == nil {
		return
	}
	age := c.age(f)
	switch {
	case f.archived:
		c.report(Archived, f.key, at, "flag %q is archived%s", f.key, age)
	case !f.active:
		c.report(Inactive, f.key, at, "flag %q is switched off%s", f.key, age)
	case u.Shape != uses.NoValue && u.Kind != uses.Object && !f.remote:
		c.checkConstant(f, u, at, age)
	}
	if f.broken {
		return
	}
	if u.Declared == nil || u.Declared.Ref {
		if c.checkType(f, at, u.Kind, u.Library, u.Method) {
			c.checkFallback(f, u)
			if u.Kind == uses.Object && u.Typed != nil {
				c.checkPayload(f, at, u.Typed)
			}
		}
	}
	c.checkRequest(f, u)
}

// age says for how long a flag is as it is.
func (c *checker) age(f *flagFacts) string {
	days := int(c.now.Sub(f.updated) / (24 * time.Hour))
	if f.updated.IsZero() || days < 1 {
		return ""
	}
	if days == 1 {
		return ", unchanged for 1 day"
	}
	return fmt.Sprintf(", unchanged for %d days", days)
}

// checkConstant reports a flag that has the same value for every request.
func (c *checker) checkConstant(f *flagFacts, u *uses.Use, at ast.Node, age string) {
	r, ok := c.definitions.snapshot.Constant(f.key)
	if !ok {
		return
	}
	value := r.Text()
	if u.Kind == uses.Bool {
		value = strconv.FormatBool(r.Enabled)
	} else if len(f.variants) > 0 {
		value = strconv.Quote(value)
	}
	why := ""
	if r.Reason.ConditionIndex >= 0 {
		why = fmt.Sprintf("; condition set %d is for everybody", r.Reason.ConditionIndex+1)
	}
	c.report(Constant, f.key, at, "flag %q is %s for every request%s%s", f.key, value, age, why)
}

// checkType reports a flag without a value of the type that is asked for. It returns true
// if there is one.
func (c *checker) checkType(f *flagFacts, at ast.Node, asks uses.Kind, library uses.Library, method string) bool {
	want := c.mismatch(f, asks, library, method)
	if want == "" {
		return true
	}
	c.report(WrongType, f.key, at, "flag %q %s", f.key, want)
	return false
}

// mismatch says why a flag has no value of the type that is asked for. PostHog's library
// has no types, so that only payloads can be missing.
func (c *checker) mismatch(f *flagFacts, asks uses.Kind, library uses.Library, method string) string {
	handle := method == "the handle"
	if f.returns != "" {
		return f.otherType(asks, library, method)
	}
	switch asks {
	case uses.Bool:
		switch {
		case library == uses.PostHog:
		case library == uses.OpenFeature && f.remote:
			return f.payloadMismatch(isJSONBool, "a boolean")
		case len(f.variants) == 0 || f.remote && !handle:
		case handle, method == "Ref.Bool":
			return fmt.Sprintf("has %s: %s always gets the fallback; declare it by NewVariant", variants(f.variants), methodName(method))
		case library == uses.OpenFeature:
			return fmt.Sprintf("has %s, which are not booleans: ask for a string", variants(f.variants))
		}
		// Bool of a Person, a Snapshot or an Evaluator is true for each variant.
	case uses.String:
		switch {
		case f.remote && (library == uses.OpenFeature || handle || method == "Person.String"):
			return f.payloadMismatch(isText, "a text")
		case len(f.variants) > 0, f.remote, strings.HasSuffix(method, ".Lookup"):
		case handle:
			return "has neither variants nor remote configuration: declare it by NewBool"
		case library == uses.OpenFeature:
			return "has no variants: ask for a boolean"
		case method == "Person.String":
			return "has no variants: Person.String always gets the fallback; ask by Bool"
		default:
			return fmt.Sprintf("has no variants: %s is only ever \"true\" or \"false\"; ask by Bool", method)
		}
	case uses.Int, uses.Float:
		what, fits := "a number", isNumber
		if asks == uses.Int {
			what, fits = "an integer", isInteger
		}
		if f.remote {
			return f.payloadMismatch(fits, what)
		}
		if len(f.variants) == 0 {
			return "has neither variants nor remote configuration, so that it is never " + what
		}
		for _, v := range f.variants {
			if !fits(v) {
				return fmt.Sprintf("has the variant %q, which is not %s", v, what)
			}
		}
	case uses.Object:
		if len(f.payloads) == 0 && !f.hidden {
			return "has no payload"
		}
		if library == uses.OpenFeature && !f.hidden {
			return f.payloadMismatch(isStructure, "an object or a list")
		}
	}
	return ""
}

// asksFor has for each type of a rule set how it is asked for, and how it is declared.
var asksFor = map[string]struct {
	kinds          []uses.Kind
	by, declaredBy string
}{
	"boolean": {[]uses.Kind{uses.Bool}, "Bool", "NewBool"},
	"string":  {[]uses.Kind{uses.String}, "String", "NewValue[string]"},
	"number":  {[]uses.Kind{uses.Int, uses.Float}, "Float", "NewValue[float64]"},
	"object":  {[]uses.Kind{uses.Object}, "JSON", "NewPayload"},
}

// otherType is mismatch for a flag with a rule set. Those who ask for a variant, or for a
// payload, get what older clients see (rules.md §4.4).
func (f *flagFacts) otherType(asks uses.Kind, library uses.Library, method string) string {
	right := asksFor[f.returns]
	switch {
	case asks == uses.Any:
	case library == uses.PostHog && (asks != uses.Object || f.returns == "object" || f.returns == "number"):
	case strings.HasSuffix(method, ".Lookup") && f.returns == "boolean":
	case asks == uses.Object && f.returns == "number" && library == uses.Flagstaff && method != "Person.JSON":
	case asks == uses.Int && f.returns == "number":
		for _, v := range f.payloads {
			if !isInteger(v) {
				return fmt.Sprintf("has the value %s, which is not an integer", v)
			}
		}
	case slices.Contains(right.kinds, asks):
	case method == "the handle":
		return fmt.Sprintf("has values of type %s: declare it by %s", f.returns, right.declaredBy)
	case library == uses.Flagstaff:
		return fmt.Sprintf("has values of type %s: ask by %s", f.returns, right.by)
	case library == uses.PostHog:
		return "has no payload"
	default:
		return fmt.Sprintf("has values of type %s: ask for one", f.returns)
	}
	return ""
}

// checkPayload reports payloads that cannot be decoded into the type that the code has for
// them, and members of payloads that their structs do not have, and the other way round.
func (c *checker) checkPayload(f *flagFacts, at ast.Node, t types.Type) {
	if f.hidden {
		return
	}
	name := types.TypeString(t, func(p *types.Package) string { return p.Name() })
	if fits, what := payloadFits(t); fits != nil {
		if why := f.payloadMismatch(fits, what); why != "" {
			c.report(WrongType, f.key, at, "flag %q %s: it is not of type %s", f.key, why, name)
			return
		}
	}
	payloads := make([]json.RawMessage, 0, len(f.payloads))
	for _, payload := range f.payloads {
		payloads = append(payloads, json.RawMessage(payload))
	}
	for _, m := range differences(t, payloads, "", 0) {
		c.report(m.rule, f.key, at, "the payloads of flag %q %s: they are decoded into %s", f.key, m.text, name)
	}
}

func methodName(method string) string {
	if method == "Ref.Bool" {
		return "a Ref"
	}
	return method
}

// payloadMismatch names a payload that is not what is wanted.
func (f *flagFacts) payloadMismatch(fits func(string) bool, what string) string {
	if f.hidden {
		return ""
	}
	for _, payload := range f.payloads {
		if !fits(payload) {
			return fmt.Sprintf("has the payload %s, which is not %s", shorten(payload), what)
		}
	}
	return ""
}

// checkFallback reports a fallback that is not a variant.
func (c *checker) checkFallback(f *flagFacts, u *uses.Use) {
	if u.Fallback == nil || u.Kind != uses.String || f.remote || f.returns != "" || len(f.variants) == 0 {
		return
	}
	v := c.info.Types[u.Fallback].Value
	if v == nil || v.Kind() != constant.String || f.hasVariant(constant.StringVal(v)) {
		return
	}
	c.unknownVariant(f, u.Fallback, constant.StringVal(v), "")
}

// unknownVariant reports a variant that a flag does not have.
func (c *checker) unknownVariant(f *flagFacts, at ast.Expr, variant, more string) {
	if len(f.variants) == 0 {
		c.report(UnknownVariant, f.key, at, "flag %q has no variants, and so no %q%s", f.key, variant, more)
		return
	}
	if near := nearest.Names(f.variants, variant); len(near) == 1 {
		c.report(UnknownVariant, f.key, at, "flag %q has no variant %q%s; did you mean %q?", f.key, variant, more, near[0])
		c.fix(at, near[0])
		return
	}
	c.report(UnknownVariant, f.key, at, "flag %q has no variant %q%s; it has %s", f.key, variant, more, quoted(f.variants, ", "))
}

// asked returns the use whose value, as text, an expression is, and its flag. They are nil
// if it is none, or if the values of the flag are not its variants.
func (c *checker) asked(e ast.Expr) (*uses.Use, *flagFacts) {
	for range 8 {
		switch at := ast.Unparen(e).(type) {
		case *ast.StarExpr:
			e = at.X
			continue
		case *ast.TypeAssertExpr:
			e = at.X
			continue
		case *ast.SelectorExpr:
			if at.Sel.Name != "Value" && at.Sel.Name != "Variant" {
				return nil, nil
			}
			e = at.X
			continue
		case *ast.Ident:
			if i, ok := c.found.Values[c.info.ObjectOf(at)]; ok {
				return c.variantUse(i)
			}
		case *ast.CallExpr:
			if i, ok := c.calls[at]; ok {
				return c.variantUse(i)
			}
			if len(at.Args) == 1 && c.info.Types[at.Fun].IsType() {
				e = at.Args[0]
				continue
			}
			if sel, ok := ast.Unparen(at.Fun).(*ast.SelectorExpr); ok && slices.Contains([]string{"Text", "Value", "Variant"}, sel.Sel.Name) && len(at.Args) == 0 {
				e = sel.X
				continue
			}
		}
		return nil, nil
	}
	return nil, nil
}

func (c *checker) variantUse(i int) (*uses.Use, *flagFacts) {
	u := &c.found.Uses[i]
	f := c.definitions.flags[u.Key]
	if u.Key == "" || f == nil || f.broken || f.remote || f.returns != "" || u.Kind != uses.String && u.Kind != uses.Any {
		return nil, nil
	}
	return u, f
}

// checkComparison checks the comparison of an expression with a constant.
func (c *checker) checkComparison(e, with ast.Expr) {
	v := c.info.Types[with].Value
	if v == nil || v.Kind() != constant.String {
		return
	}
	u, f := c.asked(e)
	if u == nil || f.hasVariant(constant.StringVal(v)) {
		return
	}
	if u.Kind == uses.String && len(f.variants) == 0 && u.Declared == nil && u.Shape != uses.ValueOK {
		return // the call is told already
	}
	c.unknownVariant(f, with, constant.StringVal(v), ": the comparison is always the same")
}

// checkSwitch checks a switch over the variants of a flag.
func (c *checker) checkSwitch(s *ast.SwitchStmt) {
	if s.Tag == nil {
		return
	}
	u, f := c.asked(s.Tag)
	if u == nil {
		return
	}
	var named []string
	complete := true
	for _, stmt := range s.Body.List {
		clause, ok := stmt.(*ast.CaseClause)
		if !ok {
			continue
		}
		if clause.List == nil {
			complete = false
		}
		for _, e := range clause.List {
			v := c.info.Types[e].Value
			switch {
			case v == nil:
				complete = false
			case v.Kind() == constant.String:
				named = append(named, constant.StringVal(v))
				if !f.hasVariant(constant.StringVal(v)) && (len(f.variants) > 0 || u.Kind == uses.Any) {
					c.unknownVariant(f, e, constant.StringVal(v), ": the case is never taken")
				}
			}
		}
	}
	if !complete || len(named) == 0 {
		return
	}
	if missing := f.without(named); len(missing) > 0 {
		c.report(MissingVariant, f.key, s.Tag, "the switch has no case for %s of flag %q, and no default", variants(missing), f.key)
	}
}

// without returns the variants of a flag that a list lacks.
func (f *flagFacts) without(list []string) []string {
	return slices.DeleteFunc(slices.Clone(f.variants), func(v string) bool { return slices.Contains(list, v) })
}

// checkRequest reports what a literal lacks.
func (c *checker) checkRequest(f *flagFacts, u *uses.Use) {
	in := u.Request
	if in == nil || !f.active || f.archived {
		return
	}
	r := &flags.Request{DistinctID: "somebody", Groups: make(map[string]string), PersonProperties: make(map[string]any), GroupProperties: make(map[string]map[string]any)}
	for _, group := range in.Groups {
		r.Groups[group] = "some"
	}
	for _, name := range in.Person {
		r.PersonProperties[name] = ""
	}
	for group, names := range in.GroupProperties {
		r.GroupProperties[group] = make(map[string]any)
		for _, name := range names {
			r.GroupProperties[group][name] = ""
		}
	}
	// Members of cohorts and keys of experience continuity are nothing that code has.
	r.Cohorts, r.Overrides = []int64{}, map[string]string{}
	known := in.Local && !in.UnknownPerson && !in.UnknownGroups && !in.UnknownGroupProperties
	if what := c.definitions.missingContext(f.key, r, !in.UnknownGroups, known); what != "" {
		c.report(MissingContext, f.key, u.Call, "flag %q looks at %s, which the request does not have", f.key, what)
	}
	if !in.UnknownContexts && len(in.Contexts) > 0 && len(f.contexts) > 0 &&
		!slices.ContainsFunc(f.contexts, func(name string) bool { return slices.Contains(in.Contexts, name) }) {
		c.report(MissingContext, f.key, u.Call, "flag %q is for requests with the evaluation context %s, and this one has %s", f.key, quoted(f.contexts, " or "), quoted(in.Contexts, ", "))
	}
}

// hasVariant reports whether a value can be one of the flag: a variant, what a flag is
// without one, or a holdout.
func (f *flagFacts) hasVariant(v string) bool {
	return slices.Contains(f.variants, v) || isSwitch(v) || v == "" || strings.HasPrefix(v, "holdout-")
}

// isSwitch reports whether a value is one of a flag without variants.
func isSwitch(v string) bool { return v == "true" || v == "false" }

// variants returns variants in words.
func variants(list []string) string {
	const most = 5
	if len(list) == 1 {
		return "the variant " + strconv.Quote(list[0])
	}
	if len(list) > most {
		return fmt.Sprintf("the variants %s and %d more", quoted(list[:most], ", "), len(list)-most)
	}
	return "the variants " + quoted(list, ", ")
}

func quoted(list []string, between string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, between)
}

// shorten quotes a payload, which may be long.
func shorten(payload string) string {
	const most = 40
	if r := []rune(payload); len(r) > most {
		payload = string(r[:most]) + "…"
	}
	return strconv.Quote(payload)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
