/// Whether a request comes from the kiosk's own page.
struct SiteCheck: Sendable {
    private let hostNames: Set<String>

    /// - Parameter hostNames: the host names of the page, besides `localhost` and IP addresses.
    init(hostNames: [String]) {
        self.hostNames = Set(hostNames.map { $0.lowercased() } + ["localhost"])
    }

    /// Whether the request was meant for this kiosk. A foreign page can point a host name of its own at this machine (DNS
    /// rebinding), so that the browser sees one origin. It cannot do so with an IP address.
    func isOwn(host: String?) -> Bool {
        guard let host, let name = Self.name(of: host) else { return false }
        return Self.isAddress(name) || hostNames.contains(name)
    }

    /// Whether the browser reports another origin as the sender. A typed address is `none`.
    func isForeign(fetchSite: String?) -> Bool {
        fetchSite.map { $0 != "same-origin" && $0 != "none" } ?? false
    }

    /// Whether a page of this host sent a request that changes something. Browsers send `Origin`; a client that does not is no
    /// browser, and is refused.
    func isSameOrigin(host: String?, origin: String?, fetchSite: String?) -> Bool {
        if let fetchSite, fetchSite != "same-origin" { return false }
        guard let host, let origin, let scheme = origin.firstRange(of: "://") else { return false }
        guard ["http", "https"].contains(origin[..<scheme.lowerBound].lowercased()) else { return false }
        return origin[scheme.upperBound...].lowercased() == host.lowercased()
    }

    /// The host name without the port.
    private static func name(of host: String) -> String? {
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            return String(host[...end])
        }
        return host.split(separator: ":", omittingEmptySubsequences: false).first.map { $0.lowercased() }
    }

    private static func isAddress(_ name: String) -> Bool {
        if name.hasPrefix("[") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
