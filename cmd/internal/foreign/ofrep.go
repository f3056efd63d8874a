package foreign

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
)

// The OpenFeature Remote Evaluation Protocol evaluates all flags at once for a context, of which
// the targeting key is a part (github.com/open-feature/protocol, service/openapi.yaml).

func ofrepRequest(c *Client, r *flags.Request) (*call, error) {
	list := c.attributes(r)
	list["targetingKey"] = r.DistinctID
	var context any = list
	header := make(map[string]string)
	if c.Key != "" {
		header["Authorization"] = "Bearer " + c.Key
	}
	switch c.From {
	case "go-feature-flag":
		if r.DistinctID == "" {
			return nil, unaskable("go-feature-flag wants a targeting key")
		}
	case "flipt":
		if c.Environment != "" {
			header["X-Flipt-Namespace"] = c.Environment
		}
		context = texts(list)
	case "configcat":
		if c.Environment == "" {
			header = map[string]string{"X-ConfigCat-SdkKey": c.Key}
		} else if header["X-ConfigCat-SdkId"] = c.Environment; c.Key != "" {
			header["X-API-Key"] = c.Key
		}
		withoutNull(list)
	}
	return &call{"/ofrep/v1/evaluate/flags", header, map[string]any{"context": context}}, nil
}

// configCatRefuses: the proxy of ConfigCat takes texts, numbers and lists of texts.
func configCatRefuses(name string, k kind, v any) string {
	switch k {
	case isList:
		elements, _ := v.([]any)
		for _, one := range elements {
			if _, ok := one.(string); !ok {
				return fmt.Sprintf("lists are of texts there, and %q is not", name)
			}
		}
	case isBool, isObject:
		return fmt.Sprintf("attributes are texts, numbers and lists there, and %q is %s", name, k)
	}
	return ""
}

func ofrepValues(c *Client, answer []byte) (map[string]json.RawMessage, error) {
	var body struct {
		Flags *[]struct {
			Key       string          `json:"key"`
			Value     json.RawMessage `json:"value"`
			ErrorCode string          `json:"errorCode"`
			Metadata  map[string]any  `json:"metadata"`
		} `json:"flags"`
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		return nil, err
	}
	if body.Flags == nil {
		return nil, errors.New(`it has no "flags"`)
	}
	values := make(map[string]json.RawMessage)
	for _, f := range *body.Flags {
		switch {
		case f.ErrorCode == "FLAG_NOT_FOUND":
		case f.ErrorCode != "": // SDKs then give what the caller falls back on
			values[f.Key] = null
		case c.From == "flipt":
			attachment, _ := f.Metadata["attachment"].(string)
			values[f.Key] = fliptValue(c.Types[f.Key], orNull(f.Value), attachment)
		default:
			values[f.Key] = orNull(f.Value)
		}
	}
	return values, nil
}

// fliptValue returns what the importer makes of a variant: its key, or an object with the key and
// the attachment if a variant of the flag has one. The empty text says that nobody is in one.
func fliptValue(want string, value json.RawMessage, attachment string) json.RawMessage {
	switch {
	case string(value) == `""`:
		return null
	case want != "object":
		return value
	case !json.Valid([]byte(attachment)):
		return json.RawMessage(`{"key":` + string(value) + `}`)
	}
	return json.RawMessage(`{"key":` + string(value) + `,"attachment":` + attachment + `}`)
}
