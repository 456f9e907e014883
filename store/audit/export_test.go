package audit

// OlderAudit finds what is to be sealed.
const OlderAudit = olderAudit
