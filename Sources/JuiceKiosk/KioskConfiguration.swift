import JuiceMaker
import JuiceMessages
import Kafka

/// What a kiosk is to show, of which Kafka, and to whom.
public struct KioskConfiguration: Sendable {
    /// What every Kafka client is to have set: brokers, security.
    public var kafka: KafkaConfiguration
    /// The topics.
    public var topics: TopicNames
    /// The service's consumer group, whose lag the board shows.
    public var group: String
    /// What the brokers can do.
    public var capabilities: BrokerCapabilities
    /// The menu that the page shows.
    public var menu: Menu
    /// The stores that there are; nil is `main` and all that have stock.
    public var stores: [String]?
    /// Whether orders are taken for any other store, too, and make it.
    public var takesAnyStore: Bool
    /// The language in which the page begins.
    public var language: Language
    /// What staff must know to edit stock; nil lets nobody.
    public var staffToken: StaffToken?
    /// The names under which browsers reach the page, besides `localhost` and addresses in numbers.
    public var hostNames: [String]
    /// How many pages can be open. Each has a connection for itself, and needs others besides.
    public var mostPages = 2000
    /// How many orders are taken.
    public var limits: OrderLimits
    /// The proxies whose word on who asks is taken.
    public var trustedProxies: [AddressRange]

    /// A kiosk of all stores that have stock, with the built-in menu, in English, where nobody can edit stock.
    public init(
        kafka: KafkaConfiguration,
        topics: TopicNames,
        group: String,
        capabilities: BrokerCapabilities = .full,
        menu: Menu = .standard,
        stores: [String]? = nil,
        takesAnyStore: Bool = false,
        language: Language = .english,
        staffToken: StaffToken? = nil,
        hostNames: [String] = [],
        limits: OrderLimits = OrderLimits(),
        trustedProxies: [AddressRange] = []
    ) {
        self.kafka = kafka
        self.topics = topics
        self.group = group
        self.capabilities = capabilities
        self.menu = menu
        self.stores = stores
        self.takesAnyStore = takesAnyStore
        self.language = language
        self.staffToken = staffToken
        self.hostNames = hostNames
        self.limits = limits
        self.trustedProxies = trustedProxies
    }
}

extension KioskConfiguration {
    /// Which stores there are.
    var rule: StoreRule { StoreRule(stores: stores, takesAny: takesAnyStore) }

    /// The one consumer that reads answers and stock, for all pages.
    var feed: KafkaConfiguration {
        KafkaConfiguration([
            "fetch.wait.max.ms": "\(capabilities.fetchWait)",
            "queued.max.messages.kbytes": "16384",
        ])
        .merging(kafka.properties).merging(reading)
        // librdkafka wants a name; without a subscription it joins nothing.
        .merging(["group.id": "juice-kiosk"])
    }

    /// A client that asks what the service's group has committed. It joins nothing and reads nothing.
    var watch: KafkaConfiguration {
        kafka.merging(reading).merging(["group.id": group])
    }

    /// The producer of commands: each is written once, to the partition of its store.
    var orders: KafkaConfiguration {
        KafkaConfiguration(["linger.ms": "0", "message.timeout.ms": "8000"])
            .merging(kafka.properties)
            .merging(["enable.idempotence": "true", "partitioner": "murmur2_random"])
    }

    private var reading: [String: String] {
        [
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
            "auto.offset.reset": "earliest",
        ]
    }
}
