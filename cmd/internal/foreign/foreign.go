package foreign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/flags"
)

// A Config says whom to ask, and how.
type Config struct {
	From string // one of Products
	URL  string // http or https, without query and fragment

	// Environment names the client-side ID of an environment of LaunchDarkly, a namespace of
	// Flipt, or an SDK of ConfigCat's proxy.
	Environment string

	Key string // "": none

	// Attributes maps the product's attributes to our properties, where their names differ.
	Attributes map[string]string

	// Types are the types of the flags' values by keys: "boolean", "string", "number" or "object".
	Types map[string]string

	HTTP      *http.Client // nil is http.DefaultClient
	UserAgent string

	// Wait waits before a request is tried again, or returns an error if ctx ends. Nil waits
	// for real.
	Wait func(ctx context.Context, d time.Duration) error
}

// A product is how one is asked.
type product struct {
	name         string
	environments bool   // it is asked for one
	needs        string // what it cannot do without, if there is neither a key nor an environment

	// refuses says why an attribute cannot be put to the product; "": it can. Nil: each can.
	refuses func(name string, k kind, v any) string

	request func(c *Client, r *flags.Request) (*call, error)
	values  func(c *Client, answer []byte) (map[string]json.RawMessage, error)

	// complete adds to a subject what the product itself adds to one that lacks it. It may be nil.
	complete func(c *Client, r *flags.Request)
}

var known = []product{
	{
		name: "launchdarkly", environments: true, needs: "the client-side ID of the environment, in FLAGSTAFF_FROM_KEY or by -environment",
		refuses: launchDarklyRefuses, request: launchDarklyRequest, values: launchDarklyValues,
	},
	{
		name: "unleash", needs: "a frontend token in FLAGSTAFF_FROM_KEY",
		refuses: unleashRefuses, request: unleashRequest, values: unleashValues, complete: unleashComplete,
	},
	{name: "go-feature-flag", request: ofrepRequest, values: ofrepValues},
	{name: "flipt", environments: true, refuses: noText, request: ofrepRequest, values: ofrepValues},
	{name: "flagd", request: ofrepRequest, values: ofrepValues},
	{
		name: "growthbook", needs: "the client key of an SDK connection in FLAGSTAFF_FROM_KEY",
		request: growthBookRequest, values: growthBookValues,
	},
	{
		name: "configcat", environments: true, needs: "the SDK key in FLAGSTAFF_FROM_KEY, or the SDK identifier of the proxy by -environment",
		refuses: configCatRefuses, request: ofrepRequest, values: ofrepValues,
	},
}

// Products returns the names of the products that can be asked.
func Products() (names []string) {
	for i := range known {
		names = append(names, known[i].name)
	}
	return names
}

// A Client asks one product. It is safe for concurrent use.
type Client struct {
	Config
	product *product
	host    string
}

// New returns a Client. The error names what is wrong, and never has the key.
func New(c Config) (*Client, error) {
	n := slices.IndexFunc(known, func(p product) bool { return p.name == c.From })
	if n < 0 {
		return nil, fmt.Errorf("there is no product %q: want one of %s", c.From, strings.Join(Products(), ", "))
	}
	p := &known[n]
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the address must be such as https://flags.example.com, without user, query and fragment")
	case !p.environments && c.Environment != "":
		return nil, fmt.Errorf("%s is not asked for an environment", p.name)
	case p.needs != "" && c.Key == "" && c.Environment == "":
		return nil, fmt.Errorf("%s needs %s", p.name, p.needs)
	case c.From == "launchdarkly" && c.Environment == "" && (strings.HasPrefix(c.Key, "sdk-") || strings.HasPrefix(c.Key, "mob-")):
		return nil, errors.New("launchdarkly needs the client-side ID of the environment, and the key is one of SDKs on servers or phones")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the key has characters that no key has, such as blanks")
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.Wait == nil {
		c.Wait = api.Wait
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	return &Client{c, p, u.Host}, nil
}

// ErrUnaskable says that a subject cannot be put to a product, and why.
var ErrUnaskable = errors.New("cannot be asked about")

func unaskable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnaskable, fmt.Sprintf(format, args...))
}

// Complete returns a subject with what the product adds by itself to one that lacks it, so that
// both sides evaluate the same.
func (c *Client) Complete(r *flags.Request) *flags.Request {
	if c.product.complete == nil {
		return r
	}
	completed := *r
	completed.PersonProperties = maps.Clone(r.PersonProperties)
	if completed.PersonProperties == nil {
		completed.PersonProperties = make(map[string]any)
	}
	c.product.complete(c, &completed)
	return &completed
}

// Values returns the values of all flags that the product answers for a subject. A request that
// fails is tried again. The error is an [*Error], [ErrUnaskable], or the error of ctx.
func (c *Client) Values(ctx context.Context, r *flags.Request) (map[string]json.RawMessage, error) {
	for list := range c.contexts(r) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if why := c.refuses(name, list[name]); why != "" {
				return nil, unaskable("%s", why)
			}
		}
	}
	request, err := c.product.request(c, r)
	if err != nil {
		return nil, err
	}
	answer, err := c.send(ctx, request)
	if err != nil {
		return nil, err
	}
	values, err := c.product.values(c, answer)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = errors.New("it is JSON of another form")
	}
	if err != nil {
		return nil, &Error{true, fmt.Sprintf("the answer of %s is not one of %s: %v; is it the address of %s?", c.host, c.From, err, c.From)}
	}
	return values, nil
}

// distinctID is the name of the property that is the distinct ID.
const distinctID = "distinct_id"

// property returns the value of a property of the person.
func property(r *flags.Request, name string) (v any, ok bool) {
	if name == distinctID {
		return r.DistinctID, true
	}
	v, ok = r.PersonProperties[name]
	return v, ok
}

// attributes returns the person's attributes there.
func (c *Client) attributes(r *flags.Request) map[string]any {
	list := map[string]any{distinctID: r.DistinctID}
	maps.Copy(list, r.PersonProperties)
	for attribute, name := range c.Attributes {
		if v, ok := property(r, name); ok {
			list[attribute] = v
		} else {
			delete(list, attribute)
		}
	}
	return list
}

// identify sets the attribute that is the distinct ID, if it is not the name of another property.
func (c *Client) identify(list map[string]any, attribute string, r *flags.Request) {
	if c.Attributes[attribute] == "" {
		list[attribute] = r.DistinctID
	}
}

// contexts yields the attributes of the person and the properties of each group.
func (c *Client) contexts(r *flags.Request) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		if !yield(c.attributes(r)) {
			return
		}
		for _, list := range r.GroupProperties {
			if !yield(list) {
				return
			}
		}
	}
}

// Fitting returns a subject without the properties that cannot be put to the product.
func (c *Client) Fitting(r *flags.Request) *flags.Request {
	fitting := *r
	fitting.PersonProperties = maps.Clone(r.PersonProperties)
	for attribute, v := range c.attributes(r) {
		if c.refuses(attribute, v) != "" {
			delete(fitting.PersonProperties, cmp.Or(c.Attributes[attribute], attribute))
		}
	}
	fitting.GroupProperties = make(map[string]map[string]any)
	for group, list := range r.GroupProperties {
		list = maps.Clone(list)
		maps.DeleteFunc(list, func(name string, v any) bool { return c.refuses(name, v) != "" })
		fitting.GroupProperties[group] = list
	}
	return &fitting
}

// refuses says why an attribute cannot be put to the product; "": it can.
func (c *Client) refuses(name string, v any) string {
	_, k, err := scalar(v)
	switch {
	case err != nil:
		return fmt.Sprintf("%q cannot be written as JSON: %v", name, err)
	case c.product.refuses == nil || k == isNull:
		return ""
	}
	return c.product.refuses(name, k, v)
}

// A kind is what a value is as JSON.
type kind string

const (
	isNull   kind = "null"
	isText   kind = "text"
	isNumber kind = "a number"
	isBool   kind = "true or false"
	isList   kind = "a list"
	isObject kind = "an object"
)

// scalar returns what a value is as JSON, and a scalar as text.
func scalar(v any) (text string, k kind, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", "", err
	}
	switch raw[0] {
	case 'n':
		return "", isNull, nil
	case '[':
		return "", isList, nil
	case '{':
		return "", isObject, nil
	case 't', 'f':
		return string(raw), isBool, nil
	case '"':
		err = json.Unmarshal(raw, &text)
		return text, isText, err
	}
	return string(raw), isNumber, nil
}

// noText is for a product whose attributes are texts.
func noText(name string, k kind, _ any) string {
	if k == isList || k == isObject {
		return fmt.Sprintf("attributes are texts there, and %q is %s", name, k)
	}
	return ""
}

// texts returns attributes for such a product.
func texts(list map[string]any) map[string]string {
	out := make(map[string]string)
	for name, v := range list {
		if text, k, err := scalar(v); err == nil && k != isNull {
			out[name] = text
		}
	}
	return out
}

// withoutNull removes attributes that are null, for a product that refuses them.
func withoutNull(list map[string]any) {
	maps.DeleteFunc(list, func(_ string, v any) bool { _, k, _ := scalar(v); return k == isNull })
}

var null = json.RawMessage("null")

// orNull returns a value, or null if it is left out.
func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return null
	}
	return v
}
