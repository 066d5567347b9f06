package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/protocol"
)

// Compiled is a Source that has been checked and made ready. It is safe for all goroutines.
type Compiled struct {
	Source   Source // as it was given
	settings gateway.Settings

	verifier verifier
	used     map[string]*use // by secret label
	format   string
	key      []reader
	perItem  bool // some part of the key is read from the body, so that the items of a batch can be told apart
	scope    reader
	amount   reader
	currency reader
	state    reader
	seenAt   reader
	ignore   []protocol.Pointer
	kept     keptHeaders
	strict   bool
	maxBody  int64
}

// Settings are what the gateway's rule needs of the source (command gateway.SetSource), as far as the source says it.
func (c *Compiled) Settings() gateway.Settings { return c.settings }

// SettingsBeside are the settings beside what stands of the source, nil where nothing does. A source that doesn't say how it is guarded stays as it is
// once it has events; before that it is flagged where a part of its key isn't under the signature, so that somebody else could make it up.
func (c *Compiled) SettingsBeside(standing *gateway.Source) gateway.Settings {
	s := c.settings
	switch {
	case c.Source.Guard != "":
		return s
	case standing != nil && standing.Events > 0:
		s.Guard = standing.Guard
	case slices.ContainsFunc(c.Source.Key, func(part Field) bool { return c.Source.unsigned(part) != "" }):
		s.Guard = gateway.GuardFlag
	}
	s.GuardS = c.Source.guardWindow(s.Guard)
	return s
}

func (s *Source) guardWindow(g gateway.Guard) int64 {
	if g == gateway.GuardOff {
		return 0
	}
	return cmp.Or(s.GuardS, s.WindowS, DefaultGuardS)
}

// Compile checks a source whole. The error joins all that is wrong, each named by its field, and never shows a secret.
func Compile(s Source) (*Compiled, error) {
	c := &Compiled{Source: s, format: s.format(), strict: s.OnMismatch == MismatchReject, maxBody: s.MaxBody, used: map[string]*use{}}
	if c.maxBody == 0 {
		c.maxBody = DefaultMaxBody
	}
	f := faults{}
	f.check(s.checkNames())
	f.check(s.checkSettings())
	f.check(s.checkReading())
	var err error
	c.verifier, err = s.Verify.compile()
	f.check(err)
	for _, secret := range s.Verify.Secrets {
		c.used[secret.Label] = &use{}
	}
	c.compileFields(&f)
	c.kept, err = compileKept(s.ForwardHeaders)
	f.check(err)
	if c.format == FormatCloudEvents {
		// In binary mode these headers are the event: the body alone is only its data.
		c.kept.prefixes = append(c.kept.prefixes, eventHeader)
	}
	if f.err != nil {
		return nil, fmt.Errorf("source %q of tenant %q: %w", s.Name, s.Tenant, f.err)
	}
	c.settings = gateway.Settings{
		WindowS: s.WindowS, Scope: s.keyScope(), LRUCapacity: s.LRUCapacity, Open: s.Registry == RegistryOpen, Forward: s.Forward,
		Parts: int64(len(s.Key)),
	}
	if guard, ok := gateway.ParseGuard(s.Guard); ok {
		c.settings.Guard, c.settings.GuardS = guard, s.guardWindow(guard)
	}
	return c, nil
}

// compileFields makes the readers.
func (c *Compiled) compileFields(f *faults) {
	s := &c.Source
	for i, part := range s.Key {
		at := fmt.Sprintf("key[%d]", i)
		r := f.reader(at, part, c.format)
		switch {
		case part == Field{}:
			f.check(fmt.Errorf("%s: neither header nor pointer nor attribute", at))
		case r.from == fromConstant:
			f.check(fmt.Errorf("%s: a constant tells no events apart", at))
		}
		c.key = append(c.key, r)
		c.perItem = c.perItem || r.from == fromBody
	}
	c.scope = f.reader("scope", s.Scope, c.format)
	c.amount = f.reader("amount", s.Amount, c.format)
	c.currency = f.reader("currency", s.Currency, c.format)
	c.state = f.reader("state", s.State, c.format)
	c.seenAt = f.reader("seen_at", s.SeenAt, c.format)
	for _, text := range s.Ignore {
		p, ok := protocol.ParsePointer(text)
		switch {
		case !ok:
			f.check(fmt.Errorf("ignore: %q is no JSON pointer", text))
		case len(p) == 0:
			f.check(errors.New("ignore: the pointer to the whole body would make all bodies the same"))
		}
		c.ignore = append(c.ignore, p)
	}
}

func (s *Source) format() string {
	if s.Format != "" {
		return s.Format
	}
	for _, f := range append([]Field{s.Scope, s.Amount, s.Currency, s.State, s.SeenAt}, s.Key...) {
		if f.Attribute != "" {
			return FormatCloudEvents
		}
	}
	return FormatJSON
}

// keyScope is the scope of keys that register themselves.
func (s *Source) keyScope() settle.Scope {
	for _, word := range []string{s.KeyScope, s.Scope.Constant} {
		if scope, ok := settle.ParseScope([]byte(word)); ok {
			return scope
		}
	}
	return settle.ScopeSchema
}

func (s *Source) checkNames() error {
	f := faults{}
	if !settle.ValidTenant([]byte(s.Tenant)) {
		f.check(fmt.Errorf("tenant %q is no name of the contract", s.Tenant))
	}
	if !settle.ValidName([]byte(s.Name)) {
		f.check(fmt.Errorf("name %q is no name of the contract", s.Name))
	}
	return f.err
}

// maxInteger is the contract's largest.
const maxInteger = 999_999_999_999_999

func (s *Source) checkSettings() error {
	f := faults{}
	f.oneOf("registry", s.Registry, RegistryRequired, RegistryOpen)
	f.oneOf("on_mismatch", s.OnMismatch, "", MismatchFlag, MismatchReject)
	f.oneOf("scope of new keys", s.KeyScope, "", settle.ScopeSchema.String(), settle.ScopeWire.String())
	f.oneOf("guard", s.Guard, "", GuardOff, GuardFlag, GuardReject)
	f.within("guard_window", s.GuardS, 0, maxInteger)
	if s.GuardS > 0 && s.Guard == GuardOff {
		f.check(errors.New("guard_window: the guard is off"))
	}
	f.within("window", s.WindowS, 0, maxInteger)
	f.within("lru_capacity", s.LRUCapacity, 0, maxInteger)
	f.within("max_body", s.MaxBody, 0, LargestBody)
	if s.RejectStatus != 0 && s.RejectStatus != http.StatusUnprocessableEntity && s.RejectStatus != http.StatusOK {
		f.check(fmt.Errorf("reject_status %d is neither 422 nor 200", s.RejectStatus))
	}
	if s.Rate < 0 || s.Rate > 0 && s.Burst < 1 {
		f.check(fmt.Errorf("rate: %g a second and %d at once let nothing in", s.Rate, s.Burst))
	}
	return f.err
}

func (s *Source) checkReading() error {
	f := faults{}
	f.oneOf("body", s.format(), FormatJSON, FormatCloudEvents, FormatRaw)
	f.oneOf("amount form", s.AmountForm, "", AmountDecimal, AmountMinor)
	if len(s.Key) == 0 || len(s.Key) > maxKeyParts {
		f.check(fmt.Errorf("key: %d parts; it has 1 to %d", len(s.Key), maxKeyParts))
	}
	if s.Amount == (Field{}) {
		f.check(errors.New(`amount is missing: an event without is bad_amount; where there are none, say so by the constant "0"`))
	}
	if (s.SeenAt == Field{}) != (s.SeenAtForm == "") {
		f.check(errors.New("seen_at: a place and a form are needed, or neither"))
	}
	f.oneOf("seen_at form", s.SeenAtForm, "", TimeUnix, TimeUnixMs, TimeRFC3339)
	f.within("seen_at max_behind", s.SeenAtBehindS, 0, maxInteger)
	if s.SeenAtBehindS > 0 && s.SeenAt == (Field{}) {
		f.check(errors.New("seen_at: max_behind needs a place and a form"))
	}
	if s.SeenAt.Constant != "" {
		f.check(errors.New("seen_at: a constant time would make everything a repeat"))
	}
	if len(s.Ignore) > maxIgnored {
		f.check(fmt.Errorf("ignore: %d members; %d at most", len(s.Ignore), maxIgnored))
	}
	if len(s.Ignore) > 0 && s.format() == FormatRaw {
		f.check(errors.New("ignore: a raw body has no members"))
	}
	f.check(s.checkConstants())
	f.check(s.checkExponents())
	return f.err
}

func (s *Source) checkConstants() error {
	f := faults{}
	f.oneOf("scope constant", s.Scope.Constant, "", settle.ScopeSchema.String(), settle.ScopeWire.String())
	f.oneOf("state constant", s.State.Constant, "", settle.StateDone.String(), settle.StatePending.String())
	if c := s.Currency.Constant; c != "" {
		if _, ok := parseCurrency(c); !ok {
			f.check(fmt.Errorf("currency: %q isn't three letters", c))
		}
	}
	if c := s.Amount.Constant; c != "" && s.AmountForm != AmountMinor {
		if _, ok := settle.ParseAmount([]byte(c)); !ok {
			f.check(fmt.Errorf("amount: %q is no amount", c))
		}
	}
	return f.err
}

func (s *Source) checkExponents() error {
	f := faults{}
	if len(s.Exponents) > 0 && s.AmountForm != AmountMinor {
		f.check(errors.New("exponents are for amounts in minor units only"))
	}
	for code, e := range s.Exponents {
		if upper, ok := parseCurrency(code); !ok || upper != code {
			f.check(fmt.Errorf("exponents: %q isn't three capital letters", code))
		}
		f.within("exponents: "+code, int64(e), 0, settle.MaxDecimals)
	}
	return f.err
}

// faults joins what is wrong.
type faults struct{ err error }

func (f *faults) check(err error) { f.err = errors.Join(f.err, err) }

func (f *faults) oneOf(what, value string, words ...string) {
	if !slices.Contains(words, value) {
		f.check(fmt.Errorf("%s: %q is none of %s", what, value, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")))
	}
}

func (f *faults) within(what string, value, least, most int64) {
	if value < least || value > most {
		f.check(fmt.Errorf("%s: %d isn't within %d to %d", what, value, least, most))
	}
}

func (f *faults) reader(what string, field Field, format string) reader {
	r, err := field.compile(format)
	if err != nil {
		f.check(fmt.Errorf("%s: %w", what, err))
	}
	return r
}

func validHeader(name string) bool { return httpguts.ValidHeaderFieldName(name) }
