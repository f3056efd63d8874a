package uses

import "go/ast"

// A Request is what a literal says about the subject of an evaluation. Names that are no
// constants make what they name unknown.
type Request struct {
	// Person has the names of the person's properties, Groups the types of the groups,
	// and GroupProperties the names of their properties by group type.
	Person          []string
	Groups          []string
	GroupProperties map[string][]string

	// Contexts are the evaluation contexts.
	Contexts []string

	// What the literal may have besides: a part that is unknown.
	UnknownPerson, UnknownGroups, UnknownGroupProperties, UnknownContexts bool

	// Local says that nobody adds to what the literal has: no server is asked that has
	// stored data.
	Local bool
}

// request returns what the literal says with which a call asks.
func (f *finder) request(p place) *Request {
	switch {
	case p.method.payload:
		return f.postHogRequest(argument(p.call, p.method.key))
	case p.method.request > 0:
		return f.flagsRequest(argument(p.call, p.method.request))
	case p.method.ofFor:
		return f.requestOfPerson(p.on)
	case p.name == "BoolFlag.Of", p.name == "VariantFlag.Of", p.name == "ValueFlag.Of", p.name == "PayloadFlag.Of":
		return f.requestOfPerson(argument(p.call, 1))
	}
	return nil
}

// requestOfPerson returns the request of a Person that Client.For has returned.
func (f *finder) requestOfPerson(e ast.Expr) *Request {
	if e == nil {
		return nil
	}
	e = ast.Unparen(e)
	if _, ok := e.(*ast.Ident); ok {
		e = f.only(f.variable(e))
		if e == nil {
			return nil
		}
		e = ast.Unparen(e)
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if path, name, ok := calleeOf(f.Info, call); !ok || path != flagstaffPath || name != "Client.For" {
		return nil
	}
	return f.flagsRequest(argument(call, 1))
}

// requestLiteral returns the values of the fields of the literal that a request is, and
// which of them are set later. It is not ok if the literal is not known.
func (f *finder) requestLiteral(e ast.Expr) (values map[string]ast.Expr, changed []string, ok bool) {
	if e == nil {
		return nil, nil, false
	}
	lit, changed := f.literal(e, f.shown)
	if lit == nil {
		return nil, nil, false
	}
	values, ok = fields(lit)
	return values, changed, ok
}

// flagsRequest returns what a literal of flags.Request says.
func (f *finder) flagsRequest(e ast.Expr) *Request {
	values, changed, ok := f.requestLiteral(e)
	if !ok {
		return nil
	}
	r := &Request{Local: values["RemoteResults"] == nil && !changes(changed, "RemoteResults")}

	inMap, known := f.namesOfMap(values["PersonProperties"])
	inList, also := f.textsOf(values["Person"], f.nameOfProperty)
	r.Person = append(inMap, inList...)
	r.UnknownPerson = !known || !also || changes(changed, "Person") || changes(changed, "PersonProperties")

	r.Groups, known = f.namesOfMap(values["Groups"])
	r.UnknownGroups = !known || changes(changed, "Groups")

	r.GroupProperties = make(map[string][]string)
	r.UnknownGroupProperties = changes(changed, "GroupProperties") || changes(changed, "OfGroups") ||
		!f.addGroupProperties(r, values["GroupProperties"]) || !f.addOfGroups(r, values["OfGroups"])

	// A Client or an Evaluator may have contexts of its own if the literal has none.
	r.UnknownContexts = changes(changed, "Filter") || values["Filter"] == nil
	if filter := values["Filter"]; filter != nil {
		lit, _ := f.literal(filter, nil)
		if lit == nil {
			r.UnknownContexts = true
		} else if inside, ok := fields(lit); !ok {
			r.UnknownContexts = true
		} else if r.Contexts, ok = f.textsOf(inside["Tags"], f.text); !ok || inside["Tags"] == nil {
			r.UnknownContexts = true
		}
	}
	return r
}

// elements returns the elements of a literal of which all is known, none for nil.
func (f *finder) elements(e ast.Expr) (list []ast.Expr, ok bool) {
	if e == nil || f.Info.Types[e].IsNil() {
		return nil, true
	}
	lit, changed := f.literal(e, nil)
	if lit == nil || len(changed) > 0 {
		return nil, false
	}
	return lit.Elts, true
}

// namesOfMap returns the keys of a literal of a map, none for nil.
func (f *finder) namesOfMap(e ast.Expr) (names []string, ok bool) {
	elements, ok := f.elements(e)
	if ok && e != nil {
		if v := f.variable(e); v != nil && f.mentions[v] != 1 {
			return nil, false // the map may be filled elsewhere
		}
	}
	for _, e := range elements {
		pair, isPair := e.(*ast.KeyValueExpr)
		if !isPair {
			return nil, false
		}
		name, isText := f.text(pair.Key)
		if !isText {
			return nil, false
		}
		names = append(names, name)
	}
	return names, ok
}

// nameOfProperty returns the name of a flags.Property that is made by a function such as
// flags.StringProperty.
func (f *finder) nameOfProperty(e ast.Expr) (name string, ok bool) {
	call, isCall := ast.Unparen(e).(*ast.CallExpr)
	if !isCall {
		return "", false
	}
	path, function, ok := calleeOf(f.Info, call)
	if !ok || path != flagsPath || !harmless[flagsPath][function] {
		return "", false
	}
	return f.text(argument(call, 1))
}

// addGroupProperties adds the literal of GroupProperties. It reports whether all is known.
func (f *finder) addGroupProperties(r *Request, e ast.Expr) bool {
	elements, ok := f.elements(e)
	for _, e := range elements {
		pair, isPair := e.(*ast.KeyValueExpr)
		if !isPair {
			return false
		}
		group, isText := f.text(pair.Key)
		names, ok := f.namesOfMap(pair.Value)
		if !isText || !ok {
			return false
		}
		r.GroupProperties[group] = append(r.GroupProperties[group], names...)
	}
	return ok
}

// addOfGroups adds the literal of OfGroups, whose elements flags.Of makes. It reports
// whether all is known.
func (f *finder) addOfGroups(r *Request, e ast.Expr) bool {
	elements, ok := f.elements(e)
	for _, e := range elements {
		call, isCall := ast.Unparen(e).(*ast.CallExpr)
		if !isCall {
			return false
		}
		path, function, ok := calleeOf(f.Info, call)
		if !ok || path != flagsPath || function != "Of" || len(call.Args) != 2 {
			return false
		}
		group, isText := f.text(call.Args[0])
		name, ok := f.nameOfProperty(call.Args[1])
		if !isText || !ok {
			return false
		}
		r.GroupProperties[group] = append(r.GroupProperties[group], name)
	}
	return ok
}

// textsOf returns what text says of each element of a literal of a slice, nothing for nil.
func (f *finder) textsOf(e ast.Expr, text func(ast.Expr) (string, bool)) (list []string, ok bool) {
	elements, ok := f.elements(e)
	for _, e := range elements {
		text, ok := text(e)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, ok
}

// postHogRequest returns what a literal of posthog.FeatureFlagPayload says.
func (f *finder) postHogRequest(e ast.Expr) *Request {
	values, changed, ok := f.requestLiteral(e)
	if !ok {
		return nil
	}
	r := &Request{UnknownContexts: true}
	// A server, which posthog-go asks otherwise, has stored properties.
	if only := values["OnlyEvaluateLocally"]; only != nil && !changes(changed, "OnlyEvaluateLocally") {
		v := f.Info.Types[only].Value
		r.Local = v != nil && v.ExactString() == "true"
	}
	r.Person, ok = f.namesOfSet(values["PersonProperties"])
	r.UnknownPerson = !ok || changes(changed, "PersonProperties")
	r.Groups, ok = f.namesOfSet(values["Groups"])
	r.UnknownGroups = !ok || changes(changed, "Groups")
	r.UnknownGroupProperties = values["GroupProperties"] != nil || changes(changed, "GroupProperties")
	return r
}

// namesOfSet returns the names of a literal of posthog.Properties or posthog.Groups, or
// of a chain such as posthog.NewProperties().Set("plan", plan).
func (f *finder) namesOfSet(e ast.Expr) (names []string, ok bool) {
	if e == nil {
		return nil, true
	}
	for {
		call, isCall := ast.Unparen(e).(*ast.CallExpr)
		if !isCall {
			list, ok := f.namesOfMap(e)
			return append(names, list...), ok
		}
		path, function, ok := calleeOf(f.Info, call)
		switch {
		case !ok || path != postHogPath:
			return nil, false
		case function == "NewProperties", function == "NewGroups":
			return names, true
		case function != "Properties.Set" && function != "Groups.Set":
			return nil, false
		}
		name, isText := f.text(argument(call, 1))
		if !isText {
			return nil, false
		}
		names = append(names, name)
		e = receiver(call)
	}
}
