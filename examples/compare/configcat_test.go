package main_test

import (
	"testing"

	configcat "github.com/configcat/go-sdk/v9"
)

type configCatEngine struct{ client *configcat.Client }

// configCat reads a file in place of the service's answer. A snapshot for a
// user remembers the flags that it has evaluated, so each evaluation takes a
// new snapshot, as the methods of the client do. ConfigCat has no regular
// expressions, and reports evaluations only to a hook of the program.
func configCat(tb testing.TB, all []flag, _ bool) func() engine {
	path := file(tb, encode(tb, configCatConfig(all)))
	return func() engine {
		client := configcat.NewCustomClient(configcat.Config{
			PollingMode:   configcat.Manual,
			LogLevel:      configcat.LogLevelError,
			FlagOverrides: &configcat.FlagOverrides{Behavior: configcat.LocalOnly, FilePath: path},
		})
		if err := client.Refresh(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		return configCatEngine{client}
	}
}

func configCatConfig(all []flag) *configcat.ConfigJson {
	value := func(v any) *configcat.SettingValue { return &configcat.SettingValue{Value: v} }
	config := &configcat.ConfigJson{
		Preferences: &configcat.Preferences{Salt: "yk1y0ZUhvM0RXkTfbqIvpg=="},
		Settings:    make(map[string]*configcat.Setting),
	}
	for _, f := range all {
		if f.variants != nil {
			setting := &configcat.Setting{Type: configcat.StringSetting, Value: value("")}
			for _, v := range f.variants {
				setting.PercentageOptions = append(setting.PercentageOptions, &configcat.PercentageOption{Percentage: int64(f.share(100)), Value: value(v)})
			}
			config.Settings[f.key] = setting
			continue
		}
		setting := &configcat.Setting{Type: configcat.BoolSetting, Value: value(false)}
		for _, c := range f.conditions {
			if c.filters == nil && c.rollout == 100 {
				setting.Value = value(true)
				continue
			}
			rule := &configcat.TargetingRule{}
			for _, x := range c.filters {
				user := &configcat.UserCondition{ComparisonAttribute: x.property}
				switch v := x.value.(type) {
				case string:
					user.StringValue, user.Comparator = new(v), configcat.OpEq
					if x.operator == versions {
						user.Comparator = configcat.OpGreaterEqSemver
					}
				case int:
					user.DoubleValue, user.Comparator = new(float64(v)), configcat.OpGreaterNum
				}
				rule.Conditions = append(rule.Conditions, &configcat.Condition{UserCondition: user})
			}
			if c.rollout == 100 {
				rule.ServedValue = &configcat.ServedValue{Value: value(true)}
			} else {
				rule.PercentageOptions = []*configcat.PercentageOption{
					{Percentage: int64(c.rollout), Value: value(true)},
					{Percentage: int64(100 - c.rollout), Value: value(false)},
				}
			}
			setting.TargetingRules = append(setting.TargetingRules, rule)
		}
		config.Settings[f.key] = setting
	}
	return config
}

func (e configCatEngine) close() { e.client.Close() }

func (e configCatEngine) subject(p person) subject {
	return &configCatSubject{e.client, &configcat.UserData{Identifier: p.id, Custom: p.properties}}
}

type configCatSubject struct {
	client *configcat.Client
	user   *configcat.UserData
}

func (s *configCatSubject) enabled(key string) bool {
	return s.client.GetBoolValue(key, false, s.user)
}

func (s *configCatSubject) variant(key string) string {
	return s.client.GetStringValue(key, "", s.user)
}

func (s *configCatSubject) all() int {
	n := 0
	for _, v := range s.client.GetAllValues(s.user) {
		if v == true {
			n++
		}
	}
	return n
}
