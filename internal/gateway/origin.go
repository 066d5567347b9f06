package gateway

// Origin says what kind of a thing brought a record about. It has a field of its own: a name from outside may be any text, also one of these.
type Origin uint8

// The origins. Their numbers are their places in originNames.
const (
	OriginUnsaid    Origin = iota // of the kinds that have no such field
	OriginOpen                    // an open source: its key registers itself by its first event
	OriginFile                    // a registry file of the configuration
	OriginAPI                     // a token's subject, by the management API; By names it
	OriginDuplicate               // a repeat by the upstream
	OriginForward                 // the forwarder
	OriginOperator                // a person at the machine, by command; By names them
)

var originNames = [...]string{"", "open", "file", "api", "duplicate", "forward", "operator"}

func (o Origin) String() string { return originNames[o] }

// ParseOrigin reads the name of an origin.
func ParseOrigin(name string) (Origin, bool) {
	for o, n := range originNames {
		if n == name && o > 0 {
			return Origin(o), true
		}
	}
	return OriginUnsaid, false
}

// kind is the name of a record's kind: the one without an origin only where none is said.
func (o Origin) kind(without, with string) string {
	if o == OriginUnsaid {
		return without
	}
	return with
}
