package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A ClientConfig is the configuration that clients get besides their flags. The
// zero value is for a project that uses flags and nothing else.
type ClientConfig struct {
	// The members of a JSON object, rendered once: for /flags and for /decide.
	flags, decide []byte
}

// NewClientConfig returns the configuration with the given members of the top
// level. They replace members of the zero ClientConfig or come after them. The
// error is about a value that is not JSON, or a name that answers need for
// themselves.
func NewClientConfig(members map[string]any) (ClientConfig, error) {
	for _, name := range answerMembers {
		if _, ok := members[name]; ok {
			return ClientConfig{}, fmt.Errorf("server: client configuration: %q is not configuration", name)
		}
	}
	flags, err := renderConfig(members, compressionOfFlags)
	if err != nil {
		return ClientConfig{}, err
	}
	decide, err := renderConfig(members, compressionOfDecide)
	if err != nil {
		return ClientConfig{}, err
	}
	return ClientConfig{flags, decide}, nil
}

// answerMembers are the members that answers have besides configuration.
var answerMembers = []string{
	"flags", "featureFlags", "featureFlagPayloads", "errorsWhileComputingFlags", "quotaLimited",
	"requestId", "evaluatedAt", "minimalFlagCalledEvents", "token",
}

// The values of supportedCompression (evaluation.md §11.3). All routes accept all
// of it.
const (
	compressionOfFlags  = `["gzip","lz64"]`
	compressionOfDecide = `["gzip","gzip-js","lz64","base64"]`
)

// configDefaults are the members that keep every SDK quiet (evaluation.md §11.3,
// wire.md §4.1). Browsers skip flags unless hasFeatureFlags is true.
var configDefaults = []struct{ name, value string }{
	{"config", `{"enable_collect_everything":true}`},
	{"toolbarParams", `{}`},
	{"isAuthenticated", `false`},
	{"supportedCompression", ``}, // depends on the route
	{"hasFeatureFlags", `true`},
	{"sessionRecording", `false`},
	{"surveys", `false`},
	{"productTours", `false`},
	{"conversations", `false`},
	{"logs", `false`},
	{"heatmaps", `false`},
	{"captureDeadClicks", `false`},
	{"defaultIdentifiedOnly", `true`},
	{"autocapture_opt_out", `false`},
	{"autocaptureExceptions", `false`},
	{"errorTracking", `{"autocaptureExceptions":false,"suppressionRules":[]}`},
	{"capturePerformance", `false`},
	{"analytics", `{"endpoint":"/i/v0/e/"}`},
	{"elementsChainAsString", `true`},
	{"siteApps", `[]`},
}

// renderConfig writes the defaults in their order, then other members by name.
func renderConfig(members map[string]any, compression string) ([]byte, error) {
	members = maps.Clone(members)
	var dst []byte
	add := func(name string, value []byte) error {
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		dst = append(append(append(dst, key...), ':'), value...)
		return nil
	}
	given := func(name string) error {
		value, err := marshal(members[name])
		if err != nil {
			return fmt.Errorf("server: client configuration: %q: %w", name, err)
		}
		delete(members, name)
		return add(name, value)
	}
	for _, d := range configDefaults {
		var err error
		if _, ok := members[d.name]; ok {
			err = given(d.name)
		} else if d.name == "supportedCompression" {
			err = add(d.name, []byte(compression))
		} else {
			err = add(d.name, []byte(d.value))
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := given(name); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// marshal encodes a value of the caller. A panic of its MarshalJSON is an error.
func marshal(v any) (b []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its encoding panicked: %s", text.OfPanic(v))
		}
	}()
	return json.Marshal(v)
}

// defaultConfig is what the zero ClientConfig stands for.
var defaultConfig = func() ClientConfig {
	c, err := NewClientConfig(nil)
	if err != nil {
		panic(err)
	}
	return c
}()

// block returns the members for an answer of /flags, or of /decide.
func (c *ClientConfig) block(decide bool) []byte {
	if c.flags == nil {
		c = &defaultConfig
	}
	if decide {
		return c.decide
	}
	return c.flags
}
