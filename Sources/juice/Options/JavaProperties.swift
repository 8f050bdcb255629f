import Kafka

/// Properties of Kafka's Java client that librdkafka does not have, and what to write instead.
enum JavaProperties {
    /// librdkafka's name for the same property.
    private static let names = [
        "ssl.truststore.certificates": "ssl.ca.pem", "ssl.keystore.certificate.chain": "ssl.certificate.pem",
        "ssl.keystore.key": "ssl.key.pem", "fetch.max.wait.ms": "fetch.wait.max.ms", "max.request.size": "message.max.bytes",
        "send.buffer.bytes": "socket.send.buffer.bytes", "receive.buffer.bytes": "socket.receive.buffer.bytes",
    ]

    /// librdkafka's value for a Java `name=value`; nil if librdkafka does the same anyway.
    private static let values: [String: String?] = [
        // The empty text is Java's way to accept any host name in a broker's certificate.
        "ssl.endpoint.identification.algorithm=": "none",
        "client.dns.lookup=use_all_dns_ips": nil, "ssl.keystore.type=pkcs12": nil, "ssl.truststore.type=pem": nil,
    ]

    private static let advice: KeyValuePairs<[String], String> = [
        ["sasl.jaas.config"]: "write its user name and password as sasl.username=… and sasl.password=…, a line each",
        ["sasl.login.callback.handler.class", "sasl.client.callback.handler.class", "sasl.login.class"]:
            "leave it out; for OAUTHBEARER write sasl.oauthbearer.method=oidc, sasl.oauthbearer.client.id,"
            + " sasl.oauthbearer.client.secret and sasl.oauthbearer.token.endpoint.url",
        ["ssl.truststore.location"]:
            "write ssl.ca.location=… with a file of PEM certificates: keytool -list -rfc -keystore FILE prints them",
        ["ssl.truststore.password", "ssl.truststore.type"]:
            "leave it out: ssl.ca.location names a PEM file, without a password",
        ["ssl.keystore.type"]:
            "leave it out: ssl.keystore.location names a PKCS#12 file (keytool -importkeystore -deststoretype PKCS12 makes one);"
            + " PEM files go into ssl.certificate.location and ssl.key.location",
        ["client.dns.lookup"]: "leave it out: every address of a name is tried; other ways need librdkafka 2.2",
        ["buffer.memory"]: "write queue.buffering.max.kbytes=…, in KiB",
        [
            "ssl.protocol", "ssl.enabled.protocols", "ssl.provider", "ssl.keymanager.algorithm", "ssl.trustmanager.algorithm",
            "ssl.secure.random.implementation", "ssl.engine.factory.class", "security.providers",
            "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor",
            "sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter", "sasl.login.refresh.buffer.seconds",
            "sasl.login.refresh.min.period.seconds", "key.serializer", "value.serializer", "key.deserializer",
            "value.deserializer", "max.poll.records", "default.api.timeout.ms", "max.block.ms", "partitioner.class",
            "partitioner.ignore.keys", "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
            "interceptor.classes", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
            "metrics.sample.window.ms", "auto.include.jmx.reporter", "exclude.internal.topics", "enable.metrics.push",
        ]: "leave it out: juice, librdkafka or OpenSSL decides that itself",
    ]

    /// Translates the properties that have an equivalent in librdkafka, and keeps the others.
    static func translated(_ properties: [String: String]) -> [String: String] {
        var translated: [String: String] = [:]
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
            if let same = values["\(name)=\(value.lowercased())"] {
                translated[name] = same
            } else {
                translated[names[name] ?? (PEM.isText(value) ? PEM.properties[name] : nil) ?? name] = value
            }
        }
        return translated
    }

    /// What to write instead of a property; nil if librdkafka has it, or Java does not.
    static func advice(for name: String) -> String? {
        KafkaConfiguration.knownNames.contains(name) ? nil : advice.first { $0.key.contains(name) }?.value
    }
}
