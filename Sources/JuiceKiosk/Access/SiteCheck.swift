/// Whether a request comes from the kiosk's own page.
struct SiteCheck: Sendable {
    private let hostNames: Set<String>

    /// - Parameter hostNames: names under which the page is reached, besides `localhost` and addresses.
    init(hostNames: [String]) {
        self.hostNames = Set(hostNames.map { $0.lowercased() } + ["localhost"])
    }

    /// Whether the request was meant for this kiosk. Any other name may be a foreign page's, pointed at this machine (DNS
    /// rebinding), which its browser then takes for the same origin. An address cannot be pointed elsewhere.
    func isOwn(host: String?) -> Bool {
        guard let host, let name = Self.name(of: host) else { return false }
        return Self.isAddress(name) || hostNames.contains(name)
    }

    /// Whether a browser says that a page of another origin makes the request. Somebody who types the address is `none`.
    func isForeign(fetchSite: String?) -> Bool {
        fetchSite.map { $0 != "same-origin" && $0 != "none" } ?? false
    }

    /// Whether a request that changes something was made by a page of this host. Browsers say who asks; a client that does
    /// not is none.
    func isSameOrigin(host: String?, origin: String?, fetchSite: String?) -> Bool {
        if let fetchSite, fetchSite != "same-origin" { return false }
        guard let host, let origin, let scheme = origin.firstRange(of: "://") else { return false }
        guard ["http", "https"].contains(origin[..<scheme.lowerBound].lowercased()) else { return false }
        return origin[scheme.upperBound...].lowercased() == host.lowercased()
    }

    /// The host's name without its port.
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
