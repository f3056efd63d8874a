package golangci

import (
	"cmp"
	"errors"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/flagstaff-go/flagstaff/vet"
)

func init() { register.Plugin("flagstaff", New) }

// Settings are the settings of the linter in golangci-lint's configuration.
type Settings struct {
	Config string `json:"config"` // the file of a configuration; "": the one of the working folder, if it has one
	Flags  string `json:"flags"`  // the file of the definitions; "": as the configuration says
}

type plugin struct{ settings Settings }

// New returns the plugin for settings, which golangci-lint has read.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, err
	}
	return plugin{s}, nil
}

// BuildAnalyzers returns the analyzer. The error says what of the settings or of the
// configuration is wrong.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	c, err := vet.FindConfig(".", p.settings.Config)
	if err != nil {
		return nil, err
	}
	file := cmp.Or(p.settings.Flags, c.Flags)
	if file == "" {
		return nil, errors.New("flagstaff: there are no definitions: name their file as flags, in the settings or in " + vet.ConfigFile)
	}
	d, err := vet.OpenDefinitions(file)
	if err != nil {
		return nil, err
	}
	return []*analysis.Analyzer{vet.New(vet.Options{Definitions: d, Config: c})}, nil
}

// GetLoadMode says that types are needed.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
