package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// The types of this file are the parts of the document that the page shows.

type api struct {
	Info struct {
		Title       string
		Summary     string
		Description string
	}
	Tags []struct {
		Name        string
		Description string
	}
	Paths      ordered[ordered[operation]] // by path and method
	Components struct {
		Parameters      map[string]parameter
		RequestBodies   map[string]body
		Responses       map[string]response
		Schemas         ordered[schema]
		SecuritySchemes map[string]struct{ Description string }
	}
}

type operation struct {
	ID          string `json:"operationId"`
	Tags        []string
	Summary     string
	Description string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody *body
	Responses   ordered[response]
}

// Has reports whether the operation has a tag.
func (o operation) Has(tag string) bool { return slices.Contains(o.Tags, tag) }

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Required    bool
	Description string
	Schema      schema
	Example     json.RawMessage
}

type body struct {
	Ref     string `json:"$ref"`
	Content ordered[content]
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     ordered[content]
}

type content struct {
	Schema  schema
	Example json.RawMessage
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        words
	Format      string
	Description string

	Properties ordered[schema]
	Required   []string
	Additional schemaOrBool `json:"additionalProperties"`
	Items      *schema
	AnyOf      []schema

	Enum     []json.RawMessage
	Const    json.RawMessage
	Default  json.RawMessage
	Minimum  json.Number
	Maximum  json.Number
	MinChars json.Number `json:"minLength"`
	MaxChars json.Number `json:"maxLength"`
	MinItems json.Number
	MaxItems json.Number
	Pattern  string
}

// Closed reports whether an object is refused if it has other members than its
// properties.
func (s schema) Closed() bool {
	return s.Additional.given && s.Additional.Schema == nil && !s.Additional.any
}

// words are one word or several.
type words []string

func (w *words) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte{'['}) {
		return json.Unmarshal(b, (*[]string)(w))
	}
	*w = make(words, 1)
	return json.Unmarshal(b, &(*w)[0])
}

// schemaOrBool is what additionalProperties may be.
type schemaOrBool struct {
	given, any bool
	Schema     *schema
}

func (s *schemaOrBool) UnmarshalJSON(b []byte) error {
	s.given = true
	if bytes.HasPrefix(b, []byte{'{'}) {
		return json.Unmarshal(b, &s.Schema)
	}
	return json.Unmarshal(b, &s.any)
}

// ordered are the members of an object in their order.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Name  string
	Value T
}

func (o *ordered[T]) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		e := entry[T]{Name: name.(string)}
		if err := d.Decode(&e.Value); err != nil {
			return err
		}
		*o = append(*o, e)
	}
	return nil
}

// last returns the name behind the last slash of a reference.
func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
