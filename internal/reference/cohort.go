package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A cohort is one entry of "cohorts", in any of the shapes of §5.1.
type cohort struct {
	id         int64
	stored     bool  // the request has the membership (§5.4)
	behavioral bool  // says its cohort_type; see also Document.behavioral
	root       *node // nil if nobody is a member
	broken     error // says why the tree is malformed (§5.5)
}

// A node of a cohort tree is either a leaf or a group of children.
type node struct {
	leaf     *filter
	any      bool // OR; otherwise AND
	children []*node
}

// decodeCohorts reads the map of the definitions endpoint, or the array of full
// records.
func decodeCohorts(top *fields) map[int64]*cohort {
	cohorts := decodeDynamicCohorts(top)
	var static []json.RawMessage
	if json.Unmarshal(top.members["static_cohorts"], &static) != nil {
		return cohorts
	}
	for _, element := range static {
		id, err := strconv.ParseInt(strings.TrimSpace(string(element)), 10, 64)
		if err != nil || cohorts[id] != nil && cohorts[id].stored {
			continue
		}
		cohorts[id] = &cohort{id: id, stored: true} // §5.4: whatever tree it has elsewhere
	}
	return cohorts
}

func decodeDynamicCohorts(top *fields) map[int64]*cohort {
	cohorts := map[int64]*cohort{}
	raw := top.members["cohorts"]
	if isNull(raw) {
		return cohorts
	}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		for _, record := range top.array("cohorts") {
			if c := decodeRecord(record); c != nil && cohorts[c.id] == nil {
				cohorts[c.id] = c
			}
		}
		return cohorts
	}
	for text, group := range top.object("cohorts").members {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			c := &cohort{id: id}
			c.root, c.broken = decodeTree(group)
			cohorts[id] = c
		}
	}
	return cohorts
}

// decodeRecord reads a full record. It returns nil for a record that does not
// count.
func decodeRecord(raw json.RawMessage) *cohort {
	in := decodeFields(raw)
	id := in.integer("id")
	if id == nil || in.boolean("deleted", false) {
		return nil
	}
	c := &cohort{id: *id, stored: in.boolean("is_static", false)}
	if kind := in.text("cohort_type"); kind != nil && slices.Contains([]string{"behavioral", "realtime", "analytical"}, *kind) {
		c.stored, c.behavioral = true, true // §5.4
	}
	switch properties := in.object("filters").members["properties"]; {
	case !isEmptyObject(properties):
		c.root, c.broken = decodeTree(properties)
	case len(in.array("groups")) > 0:
		c.root, c.broken = decodeLegacyGroups(in.array("groups"))
	case in.has("filters"):
		c.broken = fmt.Errorf("%w: filters without a tree", errShape) // §5.5
	}
	if c.broken == nil {
		c.broken = in.problem
	}
	if _, isRecord := in.members["filters"]; isRecord && c.broken == nil {
		c.broken = cohortWords.check(in) // §1.8
	}
	return c
}

// isEmptyObject reports whether raw is an empty object, null or absent.
func isEmptyObject(raw json.RawMessage) bool {
	object, isObject := decodeValue(raw).(map[string]any)
	return isNull(raw) || isObject && len(object) == 0
}

// decodeTree reads the whole tree of a cohort. An empty object has no members
// (§5.3).
func decodeTree(raw json.RawMessage) (*node, error) {
	if isEmptyObject(raw) {
		return nil, nil
	}
	return decodeNode(raw)
}

// decodeNode reads a node: a group if it has values, else a leaf (§5.1). For
// its errors see §5.5.
func decodeNode(raw json.RawMessage) (*node, error) {
	in := decodeFields(raw)
	if in.problem != nil || isEmptyObject(raw) {
		return nil, fmt.Errorf("%w: node %s", errShape, raw)
	}
	kind, values := "", in.members["values"]
	switch declared, _ := decodeValue(in.members["type"]).(string); strings.ToUpper(declared) {
	case "AND", "OR", "PROPERTY":
		if _, isLeaf := in.members["key"]; !isLeaf {
			if err := nodeWords.check(in); err != nil {
				return nil, err
			}
		}
	}
	for _, old := range []string{"AND", "OR"} { // very old exports have {"AND":[…]}
		if len(in.members) == 1 && in.has(old) {
			kind, values = old, in.members[old]
		}
	}
	if isEmptyGroup(in) {
		return &node{any: true}, nil // §5.3: a group without values is nobody
	}
	if values == nil {
		return decodeLeaf(raw)
	}
	if kind == "" {
		kind, _ = decodeValue(in.members["type"]).(string)
	}
	n := &node{}
	switch strings.ToUpper(kind) {
	case "OR":
		n.any = true
	case "AND", "PROPERTY":
	default:
		return nil, fmt.Errorf("%w: group node %s", errShape, raw)
	}
	var elements []json.RawMessage
	if isNull(values) || json.Unmarshal(values, &elements) != nil {
		return nil, fmt.Errorf("%w: values %s", errShape, values)
	}
	for _, element := range elements {
		child, err := decodeNode(element)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	return n, nil
}

// isEmptyGroup reports whether a node has the type of a group, no values, and nothing
// that a group does not have (§5.3).
func isEmptyGroup(in *fields) bool {
	kind, _ := decodeValue(in.members["type"]).(string)
	for name := range in.members {
		if !slices.Contains([]string{"type", "values", "negation", "id", "name"}, name) {
			return false
		}
	}
	return slices.Contains([]string{"AND", "OR", "PROPERTY"}, strings.ToUpper(kind)) && isNull(in.members["values"])
}

// decodeLeaf reads a leaf. A leaf of a type that flags do not have is kept in
// any form, because it never fails a flag (§5.6).
func decodeLeaf(raw json.RawMessage) (*node, error) {
	leaf, err := decodeFilter(raw)
	if err != nil {
		return nil, err
	}
	if leaf.problem == problemType {
		return &node{leaf: &leaf}, nil
	}
	_, isText := leaf.key.(string)
	if leaf.kind == typeCohort {
		_, isText = integerValue(leaf.value)
	}
	if !isText || leaf.problem == problemOperator {
		return nil, fmt.Errorf("%w: leaf %s", errShape, raw)
	}
	return &node{leaf: &leaf}, nil
}

// decodeLegacyGroups converts the field "groups" of old records (§5.6). The
// groups are ORed, the properties of a group are ANDed.
func decodeLegacyGroups(groups []json.RawMessage) (*node, error) {
	root := &node{any: true}
	for _, raw := range groups {
		child, err := decodeLegacyGroup(raw)
		if err != nil {
			return nil, err
		}
		if len(child.leaves()) == 0 {
			child = &node{any: true} // §5.6: a group that defines nothing is nobody
		}
		root.children = append(root.children, child)
	}
	return root, nil
}

func decodeLegacyGroup(raw json.RawMessage) (*node, error) {
	nobody := &node{any: true}
	group, isObject := decodeValue(raw).(map[string]any)
	if !isObject {
		return nobody, nil
	}
	in := decodeFields(raw)
	properties, given := in.members["properties"]
	if _, isTree := group["values"].([]any); isTree && !given {
		return decodeNode(raw)
	}
	switch value := decodeValue(properties).(type) {
	case nil:
		return nobody, nil
	case map[string]any:
		_, hasType := value["type"].(string)
		_, hasValues := value["values"].([]any)
		if hasType && hasValues {
			return decodeNode(properties)
		}
		if isEmptyGroup(decodeFields(properties)) {
			return nobody, nil
		}
		all := &node{}
		for _, k := range slices.Sorted(maps.Keys(value)) {
			leaf := &filter{kind: typePerson, key: k, operator: "exact", value: value[k]}
			all.children = append(all.children, &node{leaf: leaf})
		}
		return all, nil
	case []any:
		all := &node{}
		for _, element := range in.array("properties") {
			child, err := decodeLegacyLeaf(element)
			if err != nil {
				return nil, err
			}
			all.children = append(all.children, child)
		}
		return all, nil
	default:
		return nil, fmt.Errorf("%w: properties %s", errShape, properties)
	}
}

// decodeLegacyLeaf reads a leaf in which the type "event" means person.
func decodeLegacyLeaf(raw json.RawMessage) (*node, error) {
	in := decodeFields(raw)
	if in.problem != nil || isNull(raw) {
		return nil, fmt.Errorf("%w: leaf %s", errShape, raw)
	}
	if kind := in.text("type"); kind != nil && *kind == "event" {
		in.members["type"] = json.RawMessage(`"person"`)
	}
	leaf, err := json.Marshal(in.members)
	if err != nil {
		return nil, err
	}
	return decodeLeaf(leaf)
}

// leaves lists the leaves below n in stored order.
func (n *node) leaves() []*filter {
	if n == nil {
		return nil
	}
	if n.leaf != nil {
		return []*filter{n.leaf}
	}
	var list []*filter
	for _, child := range n.children {
		list = append(list, child.leaves()...)
	}
	return list
}

// resolveCohort visits a cohort and all cohorts that it depends on, depth first
// in stored order. It returns the code of the first error, or "" (§5.5). The
// cohorts in path are being visited.
func (d *Document) resolveCohort(id int64, path []int64) string {
	c, exists := d.cohorts[id]
	switch {
	case !exists:
		return codeCohortNotFound
	case slices.Contains(path, id):
		return codeCohortCycle
	case c.stored:
		return "" // membership comes with the request; filters are not used
	case c.broken != nil:
		return codeCohortParsing
	}
	path = append(slices.Clone(path), id)
	for _, leaf := range c.root.leaves() {
		if leaf.kind != typeCohort {
			continue
		}
		next, _ := integerValue(leaf.value) // checked by decodeLeaf
		if code := d.resolveCohort(next, path); code != "" {
			return code
		}
	}
	return ""
}

// behavioral reports whether this evaluator cannot fully know the membership of
// a resolved cohort (§5.4, §5.6).
func (d *Document) behavioral(id int64) bool {
	c := d.cohorts[id]
	if c.stored {
		return c.behavioral
	}
	for _, leaf := range c.root.leaves() {
		if leaf.problem == problemType {
			return true
		}
		if leaf.kind == typeCohort {
			if next, _ := integerValue(leaf.value); d.behavioral(next) {
				return true
			}
		}
	}
	return false
}

// member reports whether the person is a member of a resolved cohort (§5.3,
// §5.4).
func (e *evaluation) member(id int64) bool {
	c := e.document.cohorts[id]
	if c.stored {
		return slices.Contains(e.request.Cohorts, id)
	}
	if c.root == nil || c.root.leaf == nil && len(c.root.children) == 0 {
		return false // §5.3: a tree of nothing is nobody
	}
	return e.matchNode(c.root)
}

// matchNode implements §5.3: an empty AND is true, an empty OR is false.
func (e *evaluation) matchNode(n *node) bool {
	if n.leaf != nil {
		return e.matchLeaf(n.leaf) != n.leaf.negation // negation inverts any result of a leaf
	}
	if n.any {
		return slices.ContainsFunc(n.children, e.matchNode)
	}
	for _, child := range n.children {
		if !e.matchNode(child) {
			return false
		}
	}
	return true
}

// matchLeaf evaluates a leaf without its negation (§5.3).
func (e *evaluation) matchLeaf(leaf *filter) bool {
	switch leaf.kind {
	case typePerson, typePersonMetadata:
		return e.matchProperty(*leaf, nil)
	case typeCohort:
		id, _ := integerValue(leaf.value)
		return e.matchCohort(leaf.operator, id)
	default:
		return false // group, flag, and unknown types
	}
}

// matchCohort implements §5.2, both for conditions and for leaves.
func (e *evaluation) matchCohort(operator string, id int64) bool {
	switch operator {
	case "in":
		return e.member(id)
	case "not_in":
		return !e.member(id)
	default:
		return false // including exact
	}
}
