/// A kind of request, by its API key in Kafka's protocol.
struct ApiKey: RawRepresentable, Hashable, Sendable {
    let rawValue: Int16

    static let produce = ApiKey(rawValue: 0)
    static let fetch = ApiKey(rawValue: 1)
    static let listOffsets = ApiKey(rawValue: 2)
    static let metadata = ApiKey(rawValue: 3)
    static let offsetCommit = ApiKey(rawValue: 8)
    static let offsetFetch = ApiKey(rawValue: 9)
    static let findCoordinator = ApiKey(rawValue: 10)
    static let joinGroup = ApiKey(rawValue: 11)
    static let heartbeat = ApiKey(rawValue: 12)
    static let leaveGroup = ApiKey(rawValue: 13)
    static let syncGroup = ApiKey(rawValue: 14)
    static let apiVersions = ApiKey(rawValue: 18)
    static let initProducerID = ApiKey(rawValue: 22)
    static let addPartitions = ApiKey(rawValue: 24)
    static let endTxn = ApiKey(rawValue: 26)
    static let describeConfigs = ApiKey(rawValue: 32)
}

extension ApiKey: CustomStringConvertible {
    /// The names in Kafka's documentation.
    private static let names: [ApiKey: String] = [
        .produce: "Produce", .fetch: "Fetch", .listOffsets: "ListOffsets", .metadata: "Metadata",
        .offsetCommit: "OffsetCommit", .offsetFetch: "OffsetFetch", .findCoordinator: "FindCoordinator",
        .joinGroup: "JoinGroup", .heartbeat: "Heartbeat", .leaveGroup: "LeaveGroup",
        .syncGroup: "SyncGroup", .apiVersions: "ApiVersions", .initProducerID: "InitProducerId",
        .addPartitions: "AddPartitionsToTxn", .endTxn: "EndTxn", .describeConfigs: "DescribeConfigs",
    ]

    var description: String { Self.names[self] ?? "api key \(rawValue)" }

    init?(name: String) {
        guard let known = Self.names.first(where: { $0.value.lowercased() == name.lowercased() }) else { return nil }
        self = known.key
    }

    /// The requests of a transaction.
    static let transactional: Set<ApiKey> = [.produce, .initProducerID, .addPartitions, .endTxn]
}

extension ApiKey {
    /// The newest versions that the proxy advertises to clients, so that it only has to read these encodings.
    ///
    /// Newer versions of Fetch and Produce name other brokers, which would bypass the listeners.
    static let newestVersions: [ApiKey: Int16] = [
        .produce: 8, .fetch: 11, .metadata: 8, .findCoordinator: 2, .initProducerID: 4, .addPartitions: 2, .endTxn: 2,
    ]

    /// Whether a version uses the compact ("flexible") encodings.
    func isFlexible(version: Int16) -> Bool {
        switch self {
        case .apiVersions, .findCoordinator, .addPartitions, .endTxn: version >= 3
        case .initProducerID: version >= 2
        case .produce, .metadata: version >= 9
        default: false
        }
    }
}
