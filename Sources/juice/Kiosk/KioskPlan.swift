import Foundation
import JuiceClient
import JuiceEngine
import JuiceHTTP
import JuiceKiosk
import JuiceMessages
import Kafka

/// The configuration of a kiosk, read from the settings.
struct KioskPlan {
    /// The default address of the page, reachable from this machine only.
    static let standardAddress = HTTPAddress(host: "127.0.0.1", port: 8081)

    let configuration: KioskConfiguration
    let address: HTTPAddress
    /// The address for health and metrics; nil does not serve them.
    let adminAddress: HTTPAddress?
    let limits = ConnectionLimits.pages

    init(_ settings: Settings) throws(Failure) {
        let stores = try settings.storeNames()
        try self.init(Connection(settings), settings, stores: stores, staffToken: try Self.staffToken(settings))
    }

    /// - Parameters:
    ///   - stores: the ids of the stores to show; nil shows `main` and every store that has stock.
    ///   - staffToken: the token that staff need to edit stock; nil disables editing.
    init(_ connection: Connection, _ settings: Settings, stores: [String]?, staffToken: StaffToken?) throws(Failure) {
        // Creating a consumer reports invalid librdkafka properties before anything starts.
        _ = try connection.consumer()
        var configuration = KioskConfiguration(
            kafka: connection.base.merging(["client.id": "juice-kiosk"]).merging(connection.properties).merging([
                "bootstrap.servers": connection.bootstrapServers
            ]), topics: connection.topics, group: settings.group(), capabilities: connection.capabilities,
            menu: try settings.menu(), stores: stores, takesAnyStore: try settings.boolean(.anyStore),
            language: try settings.language(), staffToken: staffToken,
            hostNames: (settings.string(.hostNames) ?? "").split(separator: ",").map(String.init),
            limits: try Self.limits(settings), trustedProxies: try Self.trustedProxies(settings))
        // Leave connections for the requests of open pages, and for loading the page's files.
        configuration.duplicateWindow = .milliseconds(try DuplicateWindow(settings).age)
        configuration.mostPages = min(configuration.mostPages, limits.connections * 3 / 4)
        self.configuration = configuration
        adminAddress = try settings.address(.adminHTTP)
        address = try settings.address(.http) ?? Self.standardAddress
    }

    private static func limits(_ settings: Settings) throws(Failure) -> OrderLimits {
        let (range, standard) = (1...1_000_000, OrderLimits())
        return OrderLimits(
            inAll: try settings.integer(.orderRate, in: range) ?? standard.inAll,
            perAddress: try settings.integer(.addressRate, in: range) ?? standard.perAddress)
    }

    private static func trustedProxies(_ settings: Settings) throws(Failure) -> [AddressRange] {
        let expectation = "IP addresses and networks such as 127.0.0.1,10.0.0.0/8"
        return try settings.value(.trustedProxies, expectation) { text in
            let ranges = text.split(separator: ",", omittingEmptySubsequences: false).map { AddressRange(String($0)) }
            return ranges.contains { $0 == nil } ? nil : ranges.compactMap(\.self)
        } ?? []
    }

    /// The token in the configured file; nil if no file is configured.
    static func staffToken(_ settings: Settings) throws(Failure) -> StaffToken? {
        guard let path = settings.string(.staffTokenFile) else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.configuration, "the staff token's file \(path.printable) cannot be read")
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let token = StaffToken(text) else {
            let lengths = "\(StaffToken.minimumLength) to \(StaffToken.maximumLength)"
            throw Failure(
                .configuration, "the staff token in \(path.printable) must have \(lengths) characters of ASCII, without spaces",
                hint: "make one with: openssl rand -hex 16 > \(path.printable)")
        }
        return token
    }
}
