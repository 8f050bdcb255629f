import Foundation
import JuiceClient
import JuiceHTTP
import JuiceKiosk
import JuiceMessages
import Kafka

/// What a kiosk is to do, as the settings say it.
struct KioskPlan {
    /// Where the page is unless somebody says otherwise: nobody but this machine reaches it.
    static let standardAddress = HTTPAddress(host: "127.0.0.1", port: 8081)

    let configuration: KioskConfiguration
    let address: HTTPAddress
    /// Where health and metrics are shown; nil is nowhere.
    let adminAddress: HTTPAddress?
    let limits = ConnectionLimits.pages

    init(_ settings: Settings) throws(Failure) {
        let stores = try settings.storeNames()
        try self.init(
            Connection(settings),
            settings,
            stores: stores,
            staffToken: try Self.staffToken(settings)
        )
    }

    /// - Parameters:
    ///   - stores: those that there are; nil is `main` and all that have stock.
    ///   - staffToken: what lets edit stock; nil lets nobody.
    init(
        _ connection: Connection,
        _ settings: Settings,
        stores: [String]?,
        staffToken: StaffToken?
    ) throws(Failure) {
        // What librdkafka refuses of the properties is said before anything is started.
        _ = try connection.consumer()
        var configuration = KioskConfiguration(
            kafka: connection.base.merging(["client.id": "juice-kiosk"]).merging(connection.properties)
                .merging(["bootstrap.servers": connection.bootstrapServers]),
            topics: connection.topics,
            group: settings.group(),
            capabilities: connection.capabilities,
            menu: try settings.menu(),
            stores: stores,
            takesAnyStore: try settings.boolean(.anyStore),
            language: try settings.language(),
            staffToken: staffToken,
            hostNames: (settings.string(.hostNames) ?? "").split(separator: ",").map(String.init),
            limits: try Self.limits(settings),
            trustedProxies: try Self.trustedProxies(settings)
        )
        // So that whoever has the page open can also order, and what the page is made of can be fetched.
        configuration.mostPages = min(configuration.mostPages, limits.connections * 3 / 4)
        self.configuration = configuration
        adminAddress = try settings.address(.adminHTTP)
        address = try settings.address(.http) ?? Self.standardAddress
    }

    private static func limits(_ settings: Settings) throws(Failure) -> OrderLimits {
        let (range, standard) = (1...1_000_000, OrderLimits())
        return OrderLimits(
            inAll: try settings.integer(.orderRate, in: range) ?? standard.inAll,
            perAddress: try settings.integer(.addressRate, in: range) ?? standard.perAddress
        )
    }

    private static func trustedProxies(_ settings: Settings) throws(Failure) -> [AddressRange] {
        let expectation = "IP addresses and networks such as 127.0.0.1,10.0.0.0/8"
        return try settings.value(.trustedProxies, expectation) { text in
            let ranges = text.split(separator: ",", omittingEmptySubsequences: false)
                .map { AddressRange(String($0)) }
            return ranges.contains { $0 == nil } ? nil : ranges.compactMap(\.self)
        } ?? []
    }

    /// The token in the file that the settings name.
    static func staffToken(_ settings: Settings) throws(Failure) -> StaffToken? {
        guard let path = settings.string(.staffTokenFile) else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.configuration, "the staff token's file \(path.printable) cannot be read")
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let token = StaffToken(text) else {
            let lengths = "\(StaffToken.minimumLength) to \(StaffToken.maximumLength)"
            throw Failure(
                .configuration,
                "the staff token in \(path.printable) must have \(lengths) characters of ASCII, without spaces",
                hint: "make one with: openssl rand -hex 16 > \(path.printable)"
            )
        }
        return token
    }
}
