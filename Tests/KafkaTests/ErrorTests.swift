import Logging
import Testing

@testable import Kafka

/// Properties have librdkafka's names, and secrets stay secret.
@Suite struct ConfigurationTests {
    @Test(arguments: [
        ("sasl.password", true), ("ssl.key.password", true), ("ssl.keystore.password", true),
        ("ssl.key.pem", true), ("sasl.oauthbearer.client.secret", true), ("sasl.oauthbearer.config", true),
        ("sasl.oauthbearer.assertion.private.key.passphrase", true),
        ("sasl.oauthbearer.token.endpoint.url", false), ("ssl.key.location", false),
        ("sasl.username", false), ("bootstrap.servers", false), ("client.id", false),
    ])
    func secretsAreKnownByName(name: String, isSecret: Bool) {
        #expect(KafkaConfiguration.isSecret(name) == isSecret)
    }

    @Test func aDescriptionHidesSecrets() {
        let configuration = KafkaConfiguration(["sasl.username": "pos", "sasl.password": "s3cret"])
        #expect(configuration.description == "sasl.password=******** sasl.username=pos")
        #expect("\(configuration)".contains("s3cret") == false)
    }

    @Test func anUnknownPropertyIsNamed() {
        let error = #expect(throws: KafkaError.self) {
            try Producer(configuration: KafkaConfiguration(["no.such.property": "1"]), hooks: quietHooks)
        }
        #expect(error?.description.contains("\"no.such.property\"") == true)
        #expect(error?.code == .invalidArgument)
    }

    @Test func aRefusedSecretIsNotQuoted() {
        let error = #expect(throws: KafkaError.self) {
            try Producer(configuration: KafkaConfiguration(["no.such.password": "s3cret"]), hooks: quietHooks)
        }
        #expect(error?.description.contains("no.such.password") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func aRefusedValueIsExplained() {
        let error = #expect(throws: KafkaError.self) {
            try Producer(configuration: KafkaConfiguration(["linger.ms": "soon"]), hooks: quietHooks)
        }
        #expect(error?.description.contains("linger.ms") == true)
    }

    @Test func aConsumerNeedsAGroup() {
        #expect(throws: KafkaError.self) { try Consumer(configuration: KafkaConfiguration(), hooks: quietHooks) }
    }

    @Test func laterPropertiesWin() {
        let merged = KafkaConfiguration(["a": "1", "b": "1"]).merging(["b": "2"])
        #expect(merged.properties == ["a": "1", "b": "2"])
    }

    /// librdkafka refuses a property that its version does not know, and warns of a consumer's property on a producer.
    @Test func defaultsAreWhatTheVersionKnows() throws {
        let (consumer, producer) = (KafkaConfiguration().completed(for: .consumer), KafkaConfiguration().completed(for: .producer))
        #expect(consumer.properties.keys.allSatisfy(KafkaConfiguration.isKnown))
        #expect((consumer["fetch.queue.backoff.ms"] != nil) == KafkaConfiguration.isKnown("fetch.queue.backoff.ms"))
        #expect((producer["enable.metrics.push"] != nil) == KafkaConfiguration.isKnown("enable.metrics.push"))
        #expect(producer["fetch.queue.backoff.ms"] == nil)
    }
}

/// The two remedies of an error.
@Suite struct ErrorTests {
    @Test(arguments: [
        (KafkaError(code: .fenced, isFatal: true), KafkaError.Remedy.startOver),
        (KafkaError(code: .fenced, isFatal: true, isRetriable: true, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, isRetriable: true, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, isRetriable: true), .retry),
        (KafkaError(code: .state), .startOver),
    ])
    func aRemedyFollowsFromTheFlags(error: KafkaError, remedy: KafkaError.Remedy) {
        #expect(error.remedy == remedy)
    }

    @Test func onlyWhatMayPassIsRetriedAndOnlyAsLongAsItIsWorthIt() {
        func attempts(of error: KafkaError, worth limit: Int) -> Int {
            var count = 0
            _ = try? retrying(while: { count < limit }) { () throws(KafkaError) in
                count += 1
                throw error
            }
            return count
        }
        #expect(attempts(of: KafkaError(code: .timedOut, isRetriable: true), worth: 3) == 3)
        #expect(attempts(of: KafkaError(code: .fenced), worth: 3) == 1)
        #expect(attempts(of: KafkaError(code: .state, isRetriable: true, requiresAbort: true), worth: 3) == 1)
    }

    @Test(arguments: [
        (KafkaError.Code.topicAuthorizationFailed, true), (.invalidArgument, true), (.inconsistentGroupProtocol, true),
        (.timedOut, false), (.fenced, false), (.messageTooLarge, false),
    ])
    func someErrorsAreHopeless(code: KafkaError.Code, isHopeless: Bool) {
        #expect(code.isHopeless == isHopeless)
    }

    @Test func anErrorNamesItsCode() {
        #expect(KafkaError(code: .timedOut).description == "Local: Timed out (_TIMED_OUT)")
    }
}

/// Messages of librdkafka 2.0.2 and the clearer ones made of them.
@Suite struct ErrorExplainerTests {
    private let explainer = ErrorExplainer()
    private let refused = KafkaError(
        code: .ssl,
        message: "ssl://kafka:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify"
            + " failed: broker certificate could not be verified, verify that ssl.ca.location is correctly configured")

    @Test(arguments: [
        (10, "has expired"), (9, "is not valid yet"), (19, "is of no authority that is trusted here"),
        (62, "is for another host name"), (64, "is for another host name"), (7, "OpenSSL's error 7"),
    ])
    func aCertificateIsRefusedForAReason(code: Int32, reason: String) {
        #expect(!explainer.observeVerdict(code))
        let error = explainer.explained(refused)
        #expect(error.message.hasPrefix("ssl://kafka:9093/bootstrap: the broker's certificate"))
        #expect(error.message.contains(reason))
        #expect(error.code == .ssl)
    }

    @Test func aGoodCertificateIsGood() {
        #expect(explainer.observeVerdict(0))
        #expect(explainer.explained(refused).message == refused.message)
    }

    @Test(arguments: [
        (
            "Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: SSL alert number 42",
            "ssl.certificate.location"
        ), ("SSL handshake failed: error:0A000418:SSL routines::tlsv1 alert unknown ca", "ssl.certificate.location"),
        ("SSL handshake failed: error:0A00010B:SSL routines::wrong version number", "security.protocol"),
    ])
    func anAlertIsExplained(words: String, property: String) {
        let error = explainer.explained(
            KafkaError(code: .transport, message: "ssl://kafka:9094/bootstrap: \(words)")
        )
        #expect(error.code == .ssl)
        #expect(error.message.hasPrefix("ssl://kafka:9094/bootstrap: "))
        #expect(error.message.contains(property))
    }

    @Test(arguments: [
        (
            KafkaError.Code.ssl,
            "SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading",
            true
        ),
        (
            .authentication,
            "SASL authentication error: SaslAuthenticateRequest failed: Local: Broker transport failure",
            false
        ),
    ])
    func aConnectionThatBreaksIsNoRefusal(code: KafkaError.Code, words: String, suspects: Bool) {
        let error = explainer.explained(
            KafkaError(code: code, message: "ssl://kafka:9093/bootstrap: \(words)")
        )
        #expect(!error.code.isRefusal)
        #expect(error.suspectsConfiguration == suspects)
    }

    @Test func aWrongPasswordIsARefusal() {
        let refusal = KafkaError(code: .authentication, message: "SASL authentication error: Authentication failed")
        #expect(explainer.explained(refusal).code.isRefusal)
    }

    @Test func thePartitionThatWasDeniedIsNamed() {
        let denied = KafkaError(
            code: .topicAuthorizationFailed,
            message: "Failed to add partition(s) to transaction on broker TxnCoordinator/1: Broker: Topic"
                + " authorization failed (after 3 ms)", requiresAbort: true)
        #expect(explainer.explained(denied).message == denied.message)
        let line = "Failed to add partition \"juice.stock\" [0] to transaction: Broker: Topic authorization failed"
        explainer.observe(facility: "ADDPARTS", line: "[thrd:main]: TxnCoordinator/1: \(line)")
        let bystander = "Failed to add partition \"juice.results\" [0] to transaction: Broker: Operation not attempted"
        explainer.observe(facility: "ADDPARTS", line: "[thrd:main]: TxnCoordinator/1: \(bystander)")
        let error = explainer.explained(denied)
        #expect(error.message == line)
        #expect(error.code == denied.code)
        #expect(error.remedy == .startOver)
    }

    @Test(arguments: [
        ("[thrd:app]:   sasl.oauthbearer.client.secret = s3cret", "[thrd:app]:   sasl.oauthbearer.client.secret = ********"),
        ("[thrd:app]:   client.id = till = 7", "[thrd:app]:   client.id = till = 7"),
        ("[thrd:main]: Group \"g\" assigned", "[thrd:main]: Group \"g\" assigned"),
    ])
    func aLoggedSecretIsHidden(line: String, shown: String) {
        #expect(KafkaConfiguration.hidingSecret(in: line) == shown)
    }

    @Test(
        arguments: [
            (4, "session.timeout.ms is a consumer property and will be ignored by this producer instance", .debug),
            (4, "linger.ms is a producer property and will be ignored by this consumer instance", .debug),
            (4, "request.required.acks is deprecated", .warning), (3, "127.0.0.1:9092/1: Connection refused", .error),
            (7, "Sent MetadataRequest", .debug),
        ] as [(Int32, String, Logger.Level)]
    )
    func propertiesOfOtherClientsAreNoWarning(syslog: Int32, line: String, level: Logger.Level) {
        #expect(ClientContext.level(syslog: syslog, line: "[thrd:app]: \(line)") == level)
    }

    @Test func aWrongKeyPasswordIsSuspected() {
        let reason = "ssl.key.location failed: error:0A080009:SSL routines::PEM lib"
        #expect(KafkaError.refusedConfiguration(reason).message == "\(reason) (is ssl.key.password right?)")
        #expect(KafkaError.refusedConfiguration("other").message == "other")
    }
}
